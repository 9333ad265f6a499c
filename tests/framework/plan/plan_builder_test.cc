#include "sluice/framework/plan/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/missing_device.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/device.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using sluice::testing::Iota;

using Values = std::vector<float>;

class PlanBuilderTest : public ::testing::Test {
 protected:
  PlanBuilderTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 2});
    program_.Data("y", DType::kFloat32, {-1, 2});
  }
  std::string Add(const std::string& x, const std::string& y) {
    return Append(&program_, "test_add", {{"X", {x}}, {"Y", {y}}});
  }
  std::shared_ptr<const Plan> Prepare(const Feeds& feeds,
                                      const Fetches& fetches) {
    return executor_.Prepare(program_, feeds, fetches);
  }
  static bool HasNote(const Plan& plan, const std::string& text) {
    return std::any_of(
        plan.notes().begin(), plan.notes().end(),
        [&](auto& note) { return note.find(text) != std::string::npos; });
  }

  Program program_;
  Executor executor_;
  const Tensor x_ = Floats({1, 2}, {1, 2});
  const Tensor y_ = Floats({1, 2}, {10, 20});
};

TEST_F(PlanBuilderTest, LeavesOutWhatNobodyNeeds) {
  const std::string needed = Add("x", "x");
  const std::string not_needed = Add(needed, "y");
  const auto plan = Prepare({{"x", x_}}, {needed});
  EXPECT_EQ(plan->ops().size(), 1u);
  EXPECT_TRUE(HasNote(*plan, "op 1 (test_add) does not run"));
  ExpectError(
      ErrorCode::kNotFound, "feed.missing",
      {"y (float32 [?, 2], created at ", "must be fed", "in op 1 (test_add)"},
      [&] {
        Prepare({{"x", x_}}, {not_needed});
      });
}

TEST_F(PlanBuilderTest, AFetchedValueSurvivesWhateverComes) {
  const std::string out = Add("x", "y");
  std::vector<Tensor> first;
  {
    Executor executor;
    first = executor.Run(program_, {{"x", x_}, {"y", y_}}, {out});
    executor.Run(program_, {{"x", y_}, {"y", y_}}, {out});
    EXPECT_EQ(first[0].ToVector<float>(), (Values{11, 22}));
  }
  program_ = Program();
  EXPECT_EQ(first[0].ToVector<float>(), (Values{11, 22}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first[0].raw_data()) % 64, 0u);
}

TEST_F(PlanBuilderTest, TheSameVariableCanBeFetchedTwice) {
  const std::string out = Add("x", "y");
  auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}}, {out, "x", out, "x"});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].ToVector<float>(), (Values{11, 22}));
  EXPECT_EQ(results[2].ToVector<float>(), (Values{11, 22}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{1, 2}));
  for (int a = 0; a < 4; ++a) {
    EXPECT_NE(results[a].raw_data(), x_.raw_data());
    for (int b = 0; b < a; ++b) {
      EXPECT_NE(results[a].raw_data(), results[b].raw_data());
    }
  }
}

TEST_F(PlanBuilderTest, AFetchedValueMayBeReadFurtherOn) {
  const std::string sum = Add("x", "y");
  const std::string twice = Add(sum, sum);
  const auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}}, {twice, sum});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{22, 44}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{11, 22}));
}

TEST_F(PlanBuilderTest, OnlyTheLastDefinitionIsFetched) {
  program_.AppendOp("test_add", {{"X", {"x"}}, {"Y", {"x"}}}, {}, {},
                    {{"Out", {"a"}}});
  program_.AppendOp("test_add", {{"X", {"a"}}, {"Y", {"y"}}}, {}, {},
                    {{"Out", {"a"}}});
  const std::string after = Add("a", "a");
  const auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}}, {"a", after});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{12, 24}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{24, 48}));
}

TEST_F(PlanBuilderTest, AnEarlierDefinitionThatNobodyReadsDoesNotRun) {
  for (const char* from : {"x", "y"}) {
    program_.AppendOp("test_add", {{"X", {from}}, {"Y", {from}}}, {}, {},
                      {{"Out", {"a"}}});
  }
  EXPECT_EQ(Prepare({{"y", y_}}, {"a"})->ops().size(), 1u);
}

TEST_F(PlanBuilderTest, FeedsAreNeverWritten) {
  program_.AppendOp("test_views", {{"X", {"x"}}}, {}, {}, {{"Out", {"flat"}}});
  const std::string a = Append(&program_, "test_scratch", {{"X", {"flat"}}});
  const std::string b =
      Append(&program_, "test_add", {{"X", {a}}, {"Y", {"flat"}}});
  const Tensor fed = x_.CopyTo(CPUPlace());
  auto results = executor_.Run(program_, {{"x", fed}}, {b, "flat", "x"});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{2, 4}));
  for (Tensor& result : results) {
    if (result.numel() == 2) result.data<float>()[0] = -1;
  }
  EXPECT_EQ(fed.ToVector<float>(), (Values{1, 2}));
}

TEST_F(PlanBuilderTest, FeedsMayStartAnywhere) {
  const std::string out = Add("x", "y");
  char bytes[sizeof(float) * 2 + 8];
  const Values values = {5, 6};
  for (int offset = 0; offset < 8; ++offset) {
    std::memcpy(bytes + offset, values.data(), 8);
    const Tensor fed =
        Tensor::Borrow(CPUPlace(), DType::kFloat32, {1, 2}, bytes + offset);
    const auto results =
        executor_.Run(program_, {{"x", fed}, {"y", y_}}, {out});
    EXPECT_EQ(results[0].ToVector<float>(), (Values{15, 26}));
  }
}

TEST_F(PlanBuilderTest, AnAliasLooksIntoItsInput) {
  const std::string sum = Add("x", "y");
  program_.AppendOp("test_views", {{"X", {sum}}}, {}, {},
                    {{"Out", {"flat"}}, {"SameBytes", {"longer"}}});
  const std::string end =
      Append(&program_, "test_add", {{"X", {"flat"}}, {"Y", {"flat"}}});
  const auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}}, {end, "longer"});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{22, 44}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{1, 11, 22}));
}

TEST_F(PlanBuilderTest, AnAliasOfAFeedLooksIntoTheFeed) {
  program_.AppendOp("test_views", {{"X", {"x"}}}, {}, {},
                    {{"Out", {"flat"}}, {"SameBytes", {"longer"}}});
  const std::string end =
      Append(&program_, "test_add", {{"X", {"flat"}}, {"Y", {"flat"}}});
  const auto results = executor_.Run(program_, {{"x", x_}}, {end, "longer"});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{2, 4}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{1, 1, 2}));
  // The second run binds the second feed.
  const auto again = executor_.Run(program_, {{"x", y_}}, {end, "longer"});
  EXPECT_EQ(again[0].ToVector<float>(), (Values{20, 40}));
}

TEST_F(PlanBuilderTest, AFetchedAliasHasItsOwnStorage) {
  const std::string sum = Add("x", "y");
  program_.AppendOp("test_views", {{"X", {sum}}}, {}, {},
                    {{"Out", {"flat"}}, {"SameBytes", {"longer"}}});
  const auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}}, {"flat", "longer", sum});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{11, 22}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{0, 11, 22}));
  EXPECT_NE(results[0].raw_data(), results[2].raw_data());
}

// The memory of an alias's root must live as long as the alias.
TEST_F(PlanBuilderTest, AnAliasKeepsItsInputsMemory) {
  const std::string sum = Add("x", "y");
  program_.AppendOp("test_views", {{"X", {sum}}}, {}, {}, {{"Out", {"flat"}}});
  std::string other = Add("x", "x");
  for (int i = 0; i < 5; ++i)
    other = Add(other, "x");
  const std::string end =
      Append(&program_, "test_add", {{"X", {"flat"}}, {"Y", {"flat"}}});
  const auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}}, {end, other});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{22, 44}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{7, 14}));
}

TEST_F(PlanBuilderTest, ReusesMemoryAndIsolatesOnDemand) {
  std::string last = Add("x", "x");
  for (int i = 0; i < 20; ++i)
    last = Add(last, "x");
  const Feeds feeds = {{"x", x_}};
  const auto plan = Prepare(feeds, {last});
  EXPECT_EQ(plan->arenas()[0].second, 128u);
  Executor isolating({}, {.isolate = true});
  const auto isolated = isolating.Prepare(program_, feeds, {last});
  EXPECT_EQ(isolated->arenas()[0].second, 20u * 64);
  EXPECT_EQ(isolated->Run(feeds)[0].ToVector<float>(), (Values{22, 44}));
  EXPECT_EQ(plan->Run(feeds)[0].ToVector<float>(), (Values{22, 44}));
}

TEST_F(PlanBuilderTest, ScratchMemoryOverlapsWithNothingInUse) {
  const std::string sum = Add("x", "y");
  const std::string a = Append(&program_, "test_scratch", {{"X", {sum}}});
  const std::string b = Append(&program_, "test_scratch", {{"X", {a}}});
  const std::string end = Add(sum, b);
  EXPECT_EQ(executor_.Run(program_, {{"x", x_}, {"y", y_}}, {end})[0]
                .ToVector<float>(),
            (Values{22, 44}));
}

TEST_F(PlanBuilderTest, TakesOptionalVariadicHostAndShapeOnlyInputs) {
  program_.Data("i", DType::kInt32, {3});
  program_.Data("flag", DType::kBool, {1});
  const Tensor i = Tensor::FromVector<int32_t>({3}, {1, 2, 3});
  const Tensor flag = Tensor::FromVector<bool>({1}, {true});
  const AttributeMap number = {{"number", int64_t{1}}};
  program_.AppendOp("test_many", {{"Xs", {"x", "y", "x"}}, {"Index", {"i"}}},
                    number);
  const std::string few = program_.Output("Count").name();
  program_.AppendOp("test_many",
                    {{"Xs", {"y"}},
                     {"Index", {"i"}},
                     {"Bias", {"x"}},
                     {"Flag", {"flag"}},
                     {"Like", {"x"}}},
                    number, {}, {{"Extra", {"extra"}}});
  const std::string many = program_.Output("Count").name();
  const auto results =
      executor_.Run(program_, {{"x", x_}, {"y", y_}, {"i", i}, {"flag", flag}},
                    {few, many, "extra", program_.Output("Out")});
  EXPECT_EQ(results[0].ToVector<int64_t>(), std::vector<int64_t>{3});
  EXPECT_EQ(results[1].ToVector<int64_t>(), std::vector<int64_t>{1111});
  EXPECT_EQ(results[2].ToVector<float>(), (Values{7, 7, 7}));
  EXPECT_EQ(results[3].ToVector<float>(), (Values{10, 20}));
}

TEST_F(PlanBuilderTest, ChecksShapesAgainOnceTheyAreKnown) {
  const std::string out = Add("x", "y");
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"test_add", "input X [3, 2]", "in op 0 (test_add)", "created at",
               "test_ops.cc"},
              [&] {
                Prepare({{"x", Iota({3, 2})}, {"y", x_}}, {out});
              });
}

TEST_F(PlanBuilderTest, NamesBadFeeds) {
  const std::string out = Add("x", "x");
  ExpectError(ErrorCode::kNotFound, "feed.unknown", {"xx"}, [&] {
    Prepare({{"xx", x_}}, {out});
  });
  ExpectError(ErrorCode::kInvalidArgument, "feed.not_data", {out}, [&] {
    Prepare({{out, x_}}, {out});
  });
  ExpectError(ErrorCode::kInvalidArgument, "feed.twice", {"feed x"}, [&] {
    Prepare({{"x", x_}, {"x", x_}}, {out});
  });
  ExpectError(ErrorCode::kInvalidArgument, "feed.shape",
              {"feed x must have shape [?, 2], got [2, 3]"}, [&] {
                Prepare({{"x", Iota({2, 3})}}, {out});
              });
  EXPECT_THROW(Prepare({{"x", Iota({2})}}, {out}), Error);
}

TEST_F(PlanBuilderTest, NamesAnUnknownFetch) {
  ExpectError(ErrorCode::kNotFound, "program.unknown_var", {"nowhere"}, [&] {
    Prepare({{"x", x_}}, {"nowhere"});
  });
}

// A reused frame does not keep shapes of an earlier run.
TEST_F(PlanBuilderTest, KernelsFindOutShapesThatDependOnData) {
  const std::string some = Append(&program_, "test_some", {{"X", {"x"}}});
  const auto run = [&](float count) {
    Tensor x = x_.CopyTo(CPUPlace());
    x.data<float>()[0] = count;
    return Prepare({{"x", x}}, {some})->Run({{"x", x}})[0];
  };
  EXPECT_EQ(run(3).dims(), DDim({3}));
  EXPECT_EQ(run(5).ToVector<float>(), std::vector<float>(5, 5));
  EXPECT_EQ(run(0).dims(), DDim({0}));
  ExpectError(ErrorCode::kInternal, "run.no_output",
              {"did not allocate", some, "op 0 (test_some)"}, [&] { run(-1); });
  // A device has no influence on it.
  const std::string text = ExplainJson(*Prepare({{"x", x_}}, {some}));
  EXPECT_NE(text.find("only kernels of the CPU can find out"),
            std::string::npos)
      << text;
}

TEST_F(PlanBuilderTest, RefusesOutputsWhoseBytesOverflow) {
  Program program;
  const int64_t rows = int64_t{1} << 31;
  program.Data("x", DType::kFloat32, {-1, 0});
  const std::string distance =
      Append(&program, "manhattan_distance", {{"X", {"x"}}, {"Y", {"x"}}});
  const std::string end = Append(&program, "scale", {{"X", {distance}}});
  ExpectError(ErrorCode::kOutOfRange, "plan.bytes_overflow",
              {distance, "in op 0 (manhattan_distance)"}, [&] {
                executor_.Prepare(program, {{"x", Iota({rows, 0})}}, {end});
              });
}

TEST_F(PlanBuilderTest, AnOutputTooLargeForMemoryIsAnError) {
  Program program;
  const int64_t rows = int64_t{1} << 24;
  program.Data("x", DType::kFloat32, {-1, 0});
  const std::string distance =
      Append(&program, "manhattan_distance", {{"X", {"x"}}, {"Y", {"x"}}});
  const std::string end = Append(&program, "scale", {{"X", {distance}}});
  for (const std::string& fetch : {distance, end}) {
    EXPECT_THROW(executor_.Run(program, {{"x", Iota({rows, 0})}}, {fetch}),
                 Error);
  }
  EXPECT_EQ(executor_.Run(program, {{"x", Iota({3, 0})}}, {end})[0].numel(), 9);
}

TEST_F(PlanBuilderTest, NotesHintsThatNameNoOp) {
  const KernelHintGuard guard("crop: prefer variant=plain");
  const auto plan = Prepare({{"x", x_}}, {Add("x", "x")});
  EXPECT_TRUE(HasNote(*plan, "names no op of this plan"));
  EXPECT_TRUE(HasNote(*plan, "crop: prefer variant=plain (scope guard)"));
}

TEST_F(PlanBuilderTest, AnOpsOwnHintComesFirst) {
  Add("x", "x");
  program_.Hint("prefer variant=plain");
  const KernelHintGuard guard("prefer variant=wrong");
  const auto plan = Prepare({{"x", x_}}, {program_.Output("Out")});
  EXPECT_EQ(plan->decisions()[0].kernel->variant, "plain");
  // The environment may add more.
  const auto& hints = plan->decisions()[0].list->hints;
  ASSERT_GE(hints.size(), 2u);
  EXPECT_NE(hints[0].find("op attribute"), std::string::npos) << hints[0];
  EXPECT_NE(hints[1].find("scope guard"), std::string::npos) << hints[1];
}

TEST_F(PlanBuilderTest, APreferredDeviceMayBeMissingARequiredOneMayNot) {
  const std::string out = Add("x", "x");
  {
    const KernelHintGuard guard("prefer place=cuda:40");
    const auto plan = Prepare({{"x", x_}}, {out});
    const ErrorCode code = sluice::testing::RefusalOfMissingDevice().code;
    std::string reason;
    try {
      DeviceManager::Instance().Get(sluice::testing::kMissingDevice);
    } catch (const Error& error) {
      reason = error.what();
    }
    EXPECT_THAT(plan->notes(),
                ::testing::Contains(Format(
                    "hint prefer place=cuda:40 (scope guard) is left out: "
                    "{}: {}",
                    ToString(code), reason)));
  }
  const KernelHintGuard guard("require place=cuda:40");
  const auto refusal = sluice::testing::RefusalOfMissingDevice();
  ExpectError(refusal.code, refusal.check_id,
              {"asked for by hint require place=cuda:40"}, [&] {
                Prepare({{"x", x_}}, {out});
              });
}

TEST_F(PlanBuilderTest, AHintOfNoPlaceIsAlwaysAnError) {
  const KernelHintGuard guard("prefer place=FPGA 0");
  EXPECT_THROW(Prepare({{"x", x_}}, {Add("x", "x")}), Error);
}

TEST_F(PlanBuilderTest, APredicateSeesTheKnownShapes) {
  const std::string out = Add("x", "x");
  const auto small = Prepare({{"x", x_}}, {out});
  const auto large = Prepare({{"x", Iota({64, 2})}}, {out});
  EXPECT_EQ(small->decisions()[0].kernel->variant, "plain");
  EXPECT_EQ(large->decisions()[0].kernel->variant, "picky");
}

TEST_F(PlanBuilderTest, AKernelThatCannotBeMadeGivesWayToTheNext) {
  const std::string out = Append(&program_, "test_scratch", {{"X", {"x"}}});
  const auto large = Prepare({{"x", Iota({512, 2})}}, {out});
  EXPECT_EQ(large->decisions()[0].kernel->variant, "reluctant");
  const auto small = Prepare({{"x", x_}}, {out});
  const Decision& decision = small->decisions()[0];
  EXPECT_EQ(decision.kernel->variant, "plain");
  EXPECT_EQ(decision.candidates().back().refusal,
            Format("test_scratch: needs 1000 elements, got {}", x_.numel()));
  EXPECT_LT(small->ops()[0].scratch_bytes, 4096u);
  EXPECT_EQ(small->Run({{"x", x_}})[0].ToVector<float>(), x_.ToVector<float>());

  const KernelHintGuard guard("require variant=reluctant");
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"reluctant", "needs 1000 elements"}, [&] {
                Prepare({{"x", x_}}, {out});
              });
}

TEST_F(PlanBuilderTest, RunsNothingAtAll) {
  EXPECT_TRUE(executor_.Run(program_, {}, {}).empty());
}

// Seconds of CPU time for preparing a chain.
double SecondsToPrepare(int ops) {
  Program program;
  std::string last = program.Data("x", DType::kFloat32, {1}).name();
  for (int i = 0; i < ops; ++i)
    last = Append(&program, "test_add", {{"X", {last}}, {"Y", {"x"}}});
  const std::clock_t begin = std::clock();
  Executor executor;
  executor.Prepare(program, {{"x", Floats({1}, {1})}}, {last});
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Prepare, TakesTimeInProportionToTheOps) {
  sluice::testing::UseTestOps();
  SecondsToPrepare(100);
  // For ten times the ops, a quadratic step takes a hundred times as long.
  EXPECT_LT(SecondsToPrepare(30000), 40 * SecondsToPrepare(3000));
}

}  // namespace
}  // namespace sluice
