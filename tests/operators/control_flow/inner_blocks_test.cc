#include <thread>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/inspect/debug_run.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/run/executor.h"
#include "sluice/ops.h"

// Blocks that run inside of the plan of their op.
namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::testing::HasSubstr;
using ::testing::Not;
using Numbers = std::vector<float>;

class InnerBlocksTest : public ::testing::Test {
 protected:
  static Tensor Of(const DDim& dims, const Numbers& values) {
    return Tensor::FromVector<float>(dims, values);
  }
  static Tensor Flag(bool value) {
    Tensor flag;
    flag.mutable_data<bool>({}, CPUPlace())[0] = value;
    return flag;
  }
  // Runs the program, which must be one plan with `blocks` block ops.
  std::vector<Tensor> Run(const Feeds& feeds,
                          const Fetches& fetches,
                          size_t blocks = 1) {
    const auto plan = executor_.Prepare(program_, feeds, fetches);
    EXPECT_TRUE(plan->whole()) << plan->rest().reason;
    EXPECT_EQ(plan->blocks().size(), blocks);
    return executor_.Run(program_, feeds, fetches);
  }
  // Why the blocks run between two plans.
  std::string WhyBetween(const Feeds& feeds, const Fetches& fetches) {
    const auto plan = executor_.Prepare(program_, feeds, fetches);
    EXPECT_FALSE(plan->whole());
    executor_.Run(program_, feeds, fetches);
    return plan->rest().reason;
  }

  Program program_;
  Executor executor_;
};

TEST_F(InnerBlocksTest, EachIterationReadsTheLastOne) {
  // Fibonacci: the next pair is (b, a + b), and b is a result that is read
  // twice.
  const Var a = program_.Data("a", DType::kFloat32, {1});
  const Var steps = program_.Data("steps", DType::kFloat32, {-1});
  const ScanResult out = Scan(
      [](const Vars& carried, const Vars& /*elements*/) {
        return ScanStep{
            {carried[1], ops::ElementwiseAdd(carried[0], carried[1])},
            {carried[0]}};
      },
      {a, a}, {steps});
  const auto results =
      Run({{"a", Of({1}, {1})}, {"steps", Of({7}, Numbers(7))}},
          {out.carried[0], out.carried[1], out.stacked[0]});
  EXPECT_EQ(results[0].ToVector<float>(), (Numbers{21}));
  EXPECT_EQ(results[1].ToVector<float>(), (Numbers{34}));
  EXPECT_EQ(results[2].dims(), DDim({7, 1}));
  EXPECT_EQ(results[2].ToVector<float>(), (Numbers{1, 1, 2, 3, 5, 8, 13}));
}

TEST_F(InnerBlocksTest, ReadersOfALoopAreInItsPlan) {
  const Var x = program_.Data("x", DType::kFloat32, {3, 2});
  const Var before = ops::Scale(x, {.scale = 2});
  const ScanResult sums = Scan(
      [](const Vars& carried, const Vars& elements) {
        const Var sum = ops::ElementwiseAdd(carried[0], elements[0]);
        return ScanStep{{sum}, {sum}};
      },
      {ops::FillConstant(program_, {2}, {.value = 1})}, {before},
      {.reversed = true});
  const Var after = ops::Scale(sums.stacked[0], {.scale = 10});
  const Feeds feeds = {{"x", Of({3, 2}, {1, 2, 3, 4, 5, 6})}};
  const auto results = Run(feeds, {after, sums.carried[0]});
  EXPECT_EQ(results[0].ToVector<float>(),
            (Numbers{190, 250, 170, 210, 110, 130}));
  EXPECT_EQ(results[1].ToVector<float>(), (Numbers{19, 25}));
}

TEST_F(InnerBlocksTest, BothBlocksOfAnIfAreReady) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var flag = program_.Data("flag", DType::kBool, {});
  const Vars out = Cond(
      flag,
      [&] {
        const Var twice = ops::ElementwiseAdd(x, x);
        return Vars{twice, twice, x};
      },
      [&] {
        return Vars{x, ops::Neg(x), ops::Relu(x)};
      });
  const Var sum = ops::ElementwiseAdd(out[0], out[2]);
  const Feeds on = {{"x", Of({2}, {1, -2})}, {"flag", Flag(true)}};
  const Feeds off = {{"x", Of({2}, {1, -2})}, {"flag", Flag(false)}};
  auto results = Run(on, {sum, out[0], out[1], out[2]});
  EXPECT_EQ(results[0].ToVector<float>(), (Numbers{3, -6}));
  EXPECT_EQ(results[1].ToVector<float>(), (Numbers{2, -4}));
  EXPECT_EQ(results[2].ToVector<float>(), (Numbers{2, -4}));
  EXPECT_EQ(results[3].ToVector<float>(), (Numbers{1, -2}));
  const size_t plans = executor_.cached_plans();
  results = Run(off, {sum, out[0], out[1], out[2]});
  EXPECT_EQ(executor_.cached_plans(), plans);
  EXPECT_EQ(results[0].ToVector<float>(), (Numbers{2, -2}));
  EXPECT_EQ(results[2].ToVector<float>(), (Numbers{-1, 2}));
  const std::string text = executor_.Explain(program_, {.all = true});
  EXPECT_THAT(text, HasSubstr("== program =="));
  EXPECT_THAT(text, HasSubstr("== block 1 =="));
  EXPECT_THAT(text, HasSubstr("== block 2 =="));
  EXPECT_THAT(text, HasSubstr("its blocks run inside of this plan"));
}

TEST_F(InnerBlocksTest, NestedOnesToo) {
  const Var x = program_.Data("x", DType::kFloat32, {3, 2});
  const Var flag = program_.Data("flag", DType::kBool, {});
  const ScanResult rows = Scan(
      [&](const Vars& carried, const Vars& elements) {
        const ScanResult sum = Scan(
            [&](const Vars& inner, const Vars& element) {
              const Vars next = Cond(
                  flag,
                  [&] {
                    return Vars{ops::ElementwiseAdd(inner[0], element[0])};
                  },
                  [&] { return inner; });
              return ScanStep{next, {}};
            },
            {carried[0]}, {elements[0]});
        return ScanStep{sum.carried, sum.carried};
      },
      {ops::FillConstant(program_, {}, {.value = 0})}, {x});
  const Tensor numbers = Of({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Run({{"x", numbers}, {"flag", Flag(true)}}, {rows.stacked[0]})[0]
                .ToVector<float>(),
            (Numbers{3, 10, 21}));
  EXPECT_EQ(Run({{"x", numbers}, {"flag", Flag(false)}}, {rows.stacked[0]})[0]
                .ToVector<float>(),
            (Numbers{0, 0, 0}));
}

// The number of iterations depends on data, and so does the shape of Stacked.
TEST_F(InnerBlocksTest, ALoopMayEndEarly) {
  const Var x = program_.Data("x", DType::kFloat32, {1});
  const Vars out = WhileLoop(
      [&](const Vars& vars) {
        return ops::LessThan(vars[0],
                             ops::FillConstant(program_, {1}, {.value = 100}));
      },
      [](const Vars& vars) {
        return Vars{ops::ElementwiseAdd(vars[0], vars[0])};
      },
      {x});
  const Var after = ops::Neg(out[0]);
  EXPECT_EQ(Run({{"x", Of({1}, {3})}}, {after})[0].ToVector<float>(),
            (Numbers{-192}));
  EXPECT_EQ(Run({{"x", Of({1}, {300})}}, {after})[0].ToVector<float>(),
            (Numbers{-300}));
}

TEST_F(InnerBlocksTest, RandomNumbersDifferInEachIteration) {
  const Var steps = program_.Data("steps", DType::kFloat32, {-1});
  const Var zero = ops::FillConstant(program_, {4}, {.value = 0});
  const ScanResult draws = Scan(
      [&](const Vars& carried, const Vars& /*elements*/) {
        const Var random = ops::UniformRandom(program_, {4});
        return ScanStep{carried, {random}};
      },
      {zero}, {steps});
  const auto drawn = Run({{"steps", Of({3}, {0, 0, 0})}}, {draws.stacked[0]})[0]
                         .ToVector<float>();
  EXPECT_NE(Numbers(drawn.begin(), drawn.begin() + 4),
            Numbers(drawn.begin() + 4, drawn.begin() + 8));
}

TEST_F(InnerBlocksTest, ParametersAreReadFromTheScope) {
  const Var w = program_.Persistable("w", DType::kFloat32, {2});
  const Var x = program_.Data("x", DType::kFloat32, {-1, 2});
  const ScanResult sums = Scan(
      [&](const Vars& carried, const Vars& elements) {
        return ScanStep{{ops::ElementwiseAdd(
                            carried[0], ops::ElementwiseMul(elements[0], w))},
                        {}};
      },
      {ops::FillConstant(program_, {2}, {.value = 0})}, {x});
  const Feeds feeds = {{"x", Of({2, 2}, {1, 2, 3, 4})}};
  ExpectError(ErrorCode::kFailedPrecondition, "run.uninitialised", {"w"},
              [&] { Run(feeds, {sums.carried[0]}); });
  *executor_.scope().Var("w").GetMutable<Tensor>() = Of({2}, {10, 100});
  EXPECT_EQ(Run(feeds, {sums.carried[0]})[0].ToVector<float>(),
            (Numbers{40, 600}));
}

TEST_F(InnerBlocksTest, ErrorsSayWhere) {
  const Var x = program_.Data("x", DType::kFloat32, {1});
  const Vars out = WhileLoop(
      [&](const Vars& vars) {
        return ops::LessThan(vars[0],
                             ops::FillConstant(program_, {1}, {.value = 1}));
      },
      [](const Vars& vars) { return Vars{ops::Relu(vars[0])}; }, {x},
      {.dims = {}, .limit = 5});
  const Feeds feeds = {{"x", Of({1}, {0})}};
  ExpectError(ErrorCode::kResourceExhausted, "loop.limit",
              {"5 iterations have run", "in op 2 (loop)"},
              [&] { Run(feeds, {out[0]}); });
}

TEST_F(InnerBlocksTest, DebugRunsEnterThem) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const ScanResult logs = Scan(
      [&](const Vars& carried, const Vars& elements) {
        return ScanStep{carried, {ops::Log(elements[0])}};
      },
      {ops::FillConstant(program_, {}, {.value = 0})}, {x});
  const Feeds feeds = {{"x", Of({3}, {1, 0, 1})}};
  ExpectError(ErrorCode::kInternal, "run.not_finite",
              {"log", "in iteration 1 of loop"}, [&] {
                executor_.Run(program_, feeds, {logs.stacked[0]}, nullptr,
                              &RunNanChecked);
              });
  std::map<std::string, Tensor> kept;
  executor_.Run(program_, feeds, {logs.stacked[0]}, nullptr,
                [&](const Plan& plan, const Feeds& fed, Scope* scope) {
                  return RunKeepingAll(plan, fed, scope, &kept);
                });
  EXPECT_EQ(kept.count(logs.stacked[0].name()), 1U);
  EXPECT_GT(kept.size(), 2U);  // those of the block, too
}

TEST_F(InnerBlocksTest, ManyThreadsRunOnePlan) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const ScanResult sums = Scan(
      [](const Vars& carried, const Vars& elements) {
        return ScanStep{{ops::ElementwiseAdd(carried[0], elements[0])}, {}};
      },
      {ops::FillConstant(program_, {}, {.value = 0})}, {x});
  const Numbers ones(50, 1);
  const Feeds feeds = {{"x", Of({50}, ones)}};
  executor_.Prepare(program_, feeds, {sums.carried[0]});
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        results[t] = executor_.Run(program_, feeds, {sums.carried[0]})[0]
                         .data<float>()[0];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(results, Numbers(4, 50));
}

// These run between two plans, with the reason in the plan.
TEST_F(InnerBlocksTest, OthersSayWhy) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var flag = program_.Data("flag", DType::kBool, {});
  const Vars shapes = Cond(
      flag,
      [&] {
        return Vars{ops::Concat({x, x}, {.axis = 0})};
      },
      [&] { return Vars{x}; });
  const Feeds feeds = {{"x", Of({2}, {1, 2})}, {"flag", Flag(false)}};
  EXPECT_THAT(WhyBetween(feeds, {shapes[0]}),
              HasSubstr("output 0 has shape [4] from one block and [2]"));
  const Vars grown = WhileLoop(
      [&](const Vars& vars) {
        return ops::LessThan(ops::ReduceSum(vars[0], {.reduce_all = true}),
                             ops::FillConstant(program_, {}, {.value = 20}));
      },
      [](const Vars& vars) {
        return Vars{ops::Concat({vars[0], vars[0]}, {.axis = 0})};
      },
      {x}, {.dims = {{-1}}});
  EXPECT_THAT(WhyBetween(feeds, {grown[0]}),
              HasSubstr("has shape [2] in the first iteration and [4]"));
  const Vars data = Cond(
      flag, [&] { return Vars{ops::Nonzero(x)}; },
      [&] { return Vars{ops::Nonzero(x)}; });
  EXPECT_THAT(WhyBetween(feeds, {data[0]}), HasSubstr("depends on data"));
}

// A block that cannot be prepared is an error only if it runs.
TEST_F(InnerBlocksTest, AWrongBlockThatDoesNotRunIsNoError) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var y = program_.Data("y", DType::kFloat32, {-1});
  const Var flag = program_.Data("flag", DType::kBool, {});
  const Vars out = Cond(
      flag, [&] { return Vars{ops::ElementwiseAdd(x, y)}; },
      [&] { return Vars{x}; });
  Feeds feeds = {
      {"x", Of({2}, {1, 2})}, {"y", Of({3}, {1, 2, 3})}, {"flag", Flag(false)}};
  EXPECT_EQ(executor_.Run(program_, feeds, {out[0]})[0].ToVector<float>(),
            (Numbers{1, 2}));
  feeds[2].second = Flag(true);
  ExpectError(ErrorCode::kInvalidArgument, "elementwise.shapes",
              {"elementwise_add"},
              [&] { executor_.Run(program_, feeds, {out[0]}); });
}

}  // namespace
}  // namespace sluice
