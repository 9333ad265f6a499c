// Bad data that only the kernel sees raises; the next run works.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/endurance/endurance_test.h"
#include "tests/testing/expect_error.h"

#include "sluice/sluice.h"

namespace sluice::testing {
namespace {

constexpr int kTimes = 100;

class CUDAEnduranceDataErrors : public EnduranceTest {};

Feeds Indices(int64_t second) {
  return {{"x", Tensor::FromVector<float>({3, 1}, {1, 2, 3})},
          {"index", Tensor::FromVector<int64_t>({2}, {2, second})}};
}

// A program for Out = X[Index].
struct Gather {
  Gather() {
    const KernelHintGuard guard(kOnGPU);
    const Var x = program.Data("x", DType::kFloat32, {3, 1});
    const Var index = program.Data("index", DType::kInt64, {2});
    const Var out = ops::Gather(x, index);
    plan = executor.Prepare(program, Indices(0), {out});
  }
  // Returns the check that refused the index; "" if the result is right.
  std::string Try(int64_t second) const {
    try {
      const auto out = plan->Run(Indices(second))[0].ToVector<float>();
      const auto row = static_cast<float>(second + 1);
      return out == std::vector<float>{3, row} ? "" : "a wrong result";
    } catch (const Error& error) {
      return std::string(error.check_id());
    }
  }

  Program program;
  Executor executor;
  std::shared_ptr<const Plan> plan;
};

TEST_F(CUDAEnduranceDataErrors, ABadIndexHundredTimesBetweenGoodRuns) {
  const Gather gather;
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_EQ(gather.Try(3 + i), "gather.index_range_on_device") << i;
    ASSERT_EQ(gather.Try(i % 3), "") << i;
  }
}

TEST_F(CUDAEnduranceDataErrors, ABadIndexFromEightThreadsOnOnePlan) {
  const Gather gather;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kTimes; ++i) {
        // Half of the threads use valid data: no error may reach them.
        const bool bad = thread % 2 == 0;
        const std::string got = gather.Try(bad ? 100 + i : i % 3);
        if (got == (bad ? "gather.index_range_on_device" : "")) ++right;
        if (gather.Try((i + thread) % 3).empty()) ++right;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 2 * 8 * kTimes);
}

TEST_F(CUDAEnduranceDataErrors, ABadLabelHundredTimesBetweenGoodRuns) {
  const KernelHintGuard guard(kOnGPU);
  Program program;
  const Var logits = program.Data("logits", DType::kFloat32, {2, 2});
  const Var label = program.Data("label", DType::kInt64, {2, 1});
  const Var loss = ops::SoftmaxWithCrossEntropy(logits, label).loss;
  const auto feeds = [](int64_t second) -> Feeds {
    return {{"logits", Tensor::FromVector<float>({2, 2}, {1, 1, 5, 5})},
            {"label", Tensor::FromVector<int64_t>({2, 1}, {0, second})}};
  };
  Executor executor;
  for (int i = 0; i < kTimes; ++i) {
    ExpectError(ErrorCode::kOutOfRange,
                "softmax_with_cross_entropy.label_range_on_device",
                {"input Label has " + std::to_string(2 + i) + " in row 1",
                 "in op 0 (softmax_with_cross_entropy)"},
                [&] { executor.Run(program, feeds(2 + i), {loss}); });
    const auto right = executor.Run(program, feeds(i % 2), {loss})[0];
    ASSERT_NEAR(right.data<float>()[1], 0.6931472F, 1e-6) << i;
  }
}

}  // namespace
}  // namespace sluice::testing
