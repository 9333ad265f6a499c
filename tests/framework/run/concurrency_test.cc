#include <atomic>
#include <functional>
#include <thread>

#include "tests/framework/small_digits.h"
#include <gtest/gtest.h>

// Runs by many threads at once, for ThreadSanitizer.
namespace sluice::testing {
namespace {

constexpr int kThreads = 8;
constexpr int kRuns = 25;

// Calls work(thread) on kThreads threads that begin together. Fails the test if
// one throws.
void OnThreads(const std::function<void(int thread)>& work) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::string> failures(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting > 0)
        std::this_thread::yield();
      try {
        work(i);
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& failure : failures)
    EXPECT_EQ(failure, "");
}

void Require(bool right) {
  if (!right) throw std::logic_error("a thread got a wrong result");
}

Tensor Filled(int64_t rows, int64_t columns, float value) {
  return Tensor::FromVector({rows, columns},
                            std::vector<float>(rows * columns, value));
}

class Concurrency : public ::testing::Test {
 protected:
  Program program_;
  SmallDigits vars_ = BuildSmallDigits(&program_);
  Feeds feeds_ = SmallDigitsFeeds();
  Fetches fetches_ = {vars_.distance, vars_.correct};
};

TEST_F(Concurrency, ThreadsRunOnePlan) {
  const auto plan = Executor().Prepare(program_, feeds_, fetches_);
  OnThreads([&](int) {
    for (int run = 0; run < kRuns; ++run) {
      const auto results = plan->Run(feeds_);
      CheckSmallDigits(results[0], results[1]);
    }
  });
}

// Each run has its own feeds, large enough that kernels use several threads.
TEST_F(Concurrency, RunsOfOnePlanDoNotMix) {
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {301, 37});
  const Var y = program.Data("y", DType::kFloat32, {257, 37});
  const Var moved = ops::Scale(x, {.scale = 2.0, .bias = 1.0});
  const Var distance = ops::ManhattanDistance(moved, y);
  const Feeds shape = {{"x", Filled(301, 37, 0)}, {"y", Filled(257, 37, 0)}};
  const ThreadCountGuard two(2);
  const auto plan = Executor().Prepare(program, shape, {distance});
  OnThreads([&](int thread) {
    const auto value = static_cast<float>(thread + 1);
    const Feeds feeds = {{"x", Filled(301, 37, value)},
                         {"y", Filled(257, 37, 0)}};
    for (int run = 0; run < 5; ++run) {
      const Tensor out = plan->Run(feeds)[0];
      for (int64_t i = 0; i < out.numel(); ++i) {
        Require(out.data<float>()[i] == 37 * (2 * value + 1));
      }
    }
  });
}

TEST_F(Concurrency, ThreadsShareOneExecutor) {
  Executor executor;
  OnThreads([&](int thread) {
    Program own;  // half of them use their own program
    const SmallDigits own_vars = BuildSmallDigits(&own);
    for (int run = 0; run < kRuns; ++run) {
      const auto results =
          thread % 2 == 0 ? executor.Run(program_, feeds_, fetches_)
                          : executor.Run(own, feeds_,
                                         {own_vars.distance, own_vars.correct});
      CheckSmallDigits(results[0], results[1]);
    }
  });
  EXPECT_LE(executor.cached_plans(), 16u);
}

TEST_F(Concurrency, EachThreadHasItsOwnHints) {
  Executor executor;
  OnThreads([&](int thread) {
    const char* variant = thread % 2 == 0 ? "plain" : "blocked";
    const KernelHintGuard guard(
        Format("manhattan_distance: prefer variant={}", variant));
    for (int run = 0; run < kRuns; ++run) {
      const auto plan = executor.Prepare(program_, feeds_, fetches_);
      for (const auto& decision : plan->decisions()) {
        if (decision.op == "manhattan_distance") {
          ASSERT_EQ(decision.kernel->variant, variant)
              << "in thread " << thread;
        }
      }
      const auto results = executor.Run(program_, feeds_, fetches_);
      CheckSmallDigits(results[0], results[1]);
    }
  });
}

// Runs that write a persistable have exclusive access to the scope: no addition
// is lost, and readers see both elements of one state.
TEST_F(Concurrency, WritersAndReadersOfOneScope) {
  Program writer;
  writer.Data("x", DType::kFloat32, {2});
  writer.Persistable("sum", DType::kFloat32, {2});
  writer.AppendOp("elementwise_add", {{"X", {"sum"}}, {"Y", {"x"}}}, {},
                  {"here.cc", 1}, {{"Out", {"sum"}}});
  Program reader;
  const Var sum = reader.Persistable("sum", DType::kFloat32, {2});
  const Var copy = ops::Scale(sum);
  Scope scope;
  *scope.Var("sum").GetMutable<Tensor>() =
      Tensor::FromVector<float>({2}, {0, 0});
  const Feeds one = {{"x", Tensor::FromVector<float>({2}, {1, -1})}};
  Executor executor;
  OnThreads([&](int thread) {
    for (int run = 0; run < kRuns; ++run) {
      if (thread % 2 == 0) {
        executor.Run(writer, one, {}, &scope);
      } else {
        const Tensor seen = executor.Run(reader, {}, {copy}, &scope)[0];
        Require(seen.data<float>()[0] == -seen.data<float>()[1]);
      }
    }
  });
  const auto* total = scope.FindVar("sum")->Get<Tensor>();
  EXPECT_EQ(total->ToVector<float>(),
            std::vector<float>({kThreads / 2 * kRuns, -kThreads / 2 * kRuns}));
}

// A failing run does not disturb the others on its plan.
TEST_F(Concurrency, SomeThreadsFail) {
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {4});
  const Var index = program.Data("index", DType::kInt32, {1});
  const Var out = ops::Gather(x, index);
  const auto feeds = [](int32_t at) -> Feeds {
    return {{"x", Tensor::FromVector<float>({4}, {0, 1, 2, 3})},
            {"index", Tensor::FromVector<int32_t>({1}, {at})}};
  };
  const auto plan = Executor().Prepare(program, feeds(0), {out});
  OnThreads([&](int thread) {
    const Feeds mine = feeds(thread);
    for (int run = 0; run < kRuns; ++run) {
      try {
        Require(plan->Run(mine)[0].data<float>()[0] ==
                static_cast<float>(thread));
        Require(thread < 4);
      } catch (const Error& error) {
        Require(thread >= 4 && error.code() == ErrorCode::kOutOfRange);
      }
    }
  });
}

}  // namespace
}  // namespace sluice::testing
