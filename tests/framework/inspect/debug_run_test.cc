#include "sluice/framework/inspect/debug_run.h"

#include <functional>
#include <limits>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/inspect/write_check.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/cancel.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;

using Values = std::vector<float>;

class DebugRunTest : public ::testing::Test {
 protected:
  DebugRunTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {3});
    sum_ = Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"x"}}});
    inverse_ = Append(&program_, "test_divide", {{"X", {sum_}}});
    end_ = Append(&program_, "test_add", {{"X", {inverse_}}, {"Y", {sum_}}});
  }
  std::shared_ptr<const Plan> Prepare(const Feeds& feeds) {
    return executor_.Prepare(program_, feeds, {end_});
  }

  // Appends 1 / x, and an op that adds it to "w", which is {1, 2}.
  static std::string TrainingStep(Program* program, Scope* scope) {
    program->Data("x", DType::kFloat32, {2});
    program->Persistable("w", DType::kFloat32, {2});
    const std::string delta = Append(program, "test_divide", {{"X", {"x"}}});
    Append(program, "test_update", {{"Param", {"w"}}, {"Delta", {delta}}});
    *scope->Var("w").GetMutable<Tensor>() = Floats({2}, {1, 2});
    return delta;
  }
  static Values Stored(const Scope& scope) {
    return scope.FindVar("w")->Get<Tensor>()->ToVector<float>();
  }

  Program program_;
  std::string sum_, inverse_, end_;
  Executor executor_;
};

TEST_F(DebugRunTest, NanCheckNamesTheFirstOpElementAndLine) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 0})}};
  ExpectError(ErrorCode::kInternal, "run.not_finite",
              {"test_divide: output test_divide_1.Out (float32 [3] at cpu) has "
               "1 +Inf of 3 elements, the first is element 2, although all "
               "inputs are finite: " +
                   sum_ + " from 0 to 4",
               "in op 1 (test_divide)", "created at"},
              [&] { RunNanChecked(*Prepare(feeds), feeds); });
}

TEST_F(DebugRunTest, NanCheckCountsEachKind) {
  using Limits = std::numeric_limits<float>;
  Program program;
  program.Data("x", DType::kFloat32, {5});
  const std::string logs = Append(&program, "log", {{"X", {"x"}}});
  const Feeds feeds = {{"x", Floats({5}, {1, 0, -1, -2, 0})}};
  const auto plan = executor_.Prepare(program, feeds, {logs});
  ExpectError(ErrorCode::kInternal, "run.not_finite",
              {"has 2 NaN and 2 -Inf of 5 elements, the first is element 1",
               "all inputs are finite: x from -2 to 1"},
              [&] { RunNanChecked(*plan, feeds); });
  const Feeds given = {
      {"x", Floats({5}, {1, 2, Limits::quiet_NaN(), Limits::infinity(), 0})}};
  ExpectError(ErrorCode::kInternal, "run.nan_given",
              {"input x (float32 [5]) has 1 NaN and 1 +Inf of 5 elements "
               "already, the first NaN is element 2: it was fed"},
              [&] { RunNanChecked(*plan, given); });
}

TEST_F(DebugRunTest, AnElementOfSeveralDimsHasItsIndex) {
  Program program;
  program.Data("x", DType::kFloat32, {2, 1, 3});
  const std::string logs = Append(&program, "log", {{"X", {"x"}}});
  const Feeds feeds = {{"x", Floats({2, 1, 3}, {1, 2, 3, 4, 5, 0})}};
  const auto plan = executor_.Prepare(program, feeds, {logs});
  ExpectError(ErrorCode::kInternal, "run.not_finite",
              {"the first is element 5 at [1, 0, 2], although"},
              [&] { RunNanChecked(*plan, feeds); });
}

TEST_F(DebugRunTest, NanCheckNamesTheOpThatMakesNanOfAnInfinity) {
  Program program;
  program.Data("x", DType::kFloat32, {2});
  program.Data("y", DType::kFloat32, {2});
  const std::string product =
      Append(&program, "elementwise_mul", {{"X", {"x"}}, {"Y", {"y"}}});
  const float infinity = std::numeric_limits<float>::infinity();
  const Feeds feeds = {{"x", Floats({2}, {1, -infinity})},
                       {"y", Floats({2}, {0, 0})}};
  const auto plan = executor_.Prepare(program, feeds, {product});
  ExpectError(ErrorCode::kInternal, "run.not_finite",
              {"has 1 NaN of 2 elements, the first NaN is element 1, although "
               "no input has a NaN: x all 1 and 1 -Inf of 2 elements, y all 0"},
              [&] { RunNanChecked(*plan, feeds); });
}

TEST_F(DebugRunTest, AFaultIsFoundWithoutAnErrorAndWithoutTraining) {
  Program program;
  Scope scope;
  const std::string inverse = TrainingStep(&program, &scope);
  Feeds feeds = {{"x", Floats({2}, {1, 2})}};
  const auto plan = executor_.Prepare(program, feeds, {inverse});
  EXPECT_EQ(FindFault(*plan, feeds, &scope).text, "");
  feeds[0].second = Floats({2}, {1, 0});
  const RunFault fault = FindFault(*plan, feeds, &scope);
  EXPECT_EQ(fault.op_index, 0);
  EXPECT_NE(fault.text.find("has 1 +Inf of 2 elements"), std::string::npos);
  EXPECT_EQ(Stored(scope), (Values{1, 2}));
}

TEST_F(DebugRunTest, NanCheckPassesFiniteValues) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  EXPECT_EQ(RunNanChecked(*Prepare(feeds), feeds)[0].ToVector<float>(),
            (Values{2.5f, 4.25f, 8.125f}));
}

TEST_F(DebugRunTest, NanCheckNamesAFedNanAndPassesAFedInfinity) {
  using Limits = std::numeric_limits<float>;
  const Feeds nan = {{"x", Floats({3}, {1, Limits::quiet_NaN(), 4})}};
  ExpectError(ErrorCode::kInternal, "run.nan_given",
              {"input x (float32 [3]) has 1 NaN of 3 elements already, the "
               "first NaN is element 1: it was fed"},
              [&] { RunNanChecked(*Prepare(nan), nan); });
  const Feeds infinite = {{"x", Floats({3}, {1, Limits::infinity(), 4})}};
  EXPECT_NO_THROW(RunNanChecked(*Prepare(infinite), infinite));
}

TEST_F(DebugRunTest, NanCheckKnowsEveryFloatingDType) {
  for (const DType dtype :
       {DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    Program program;
    program.Data("x", DType::kFloat32, {3});
    program.AppendOp("cast", {{"X", {"x"}}}, {{"dtype", dtype}});
    const std::string cast = program.Output("Out").name();
    const Feeds feeds = {{"x", Floats({3}, {1, 2, 3.3e38f})}};
    // Only float16 overflows.
    program.AppendOp("scale", {{"X", {cast}}}, {{"scale", 2.0}});
    const auto plan =
        executor_.Prepare(program, feeds, {program.Output("Out")});
    if (dtype == DType::kFloat64) {
      EXPECT_NO_THROW(RunNanChecked(*plan, feeds));
    } else {
      ExpectError(ErrorCode::kInternal, "run.not_finite", {"element 2"},
                  [&] { RunNanChecked(*plan, feeds); });
    }
  }
}

TEST_F(DebugRunTest, NanCheckLooksAtDevices) {
  const std::string far = Append(&program_, "reshape", {{"X", {end_}}},
                                 {{"shape", std::vector<int64_t>{1, 3}}});
  const std::string distance =
      Append(&program_, "manhattan_distance", {{"X", {far}}, {"Y", {far}}}, {},
             "require place=fpga:0");
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  const auto plan = executor_.Prepare(program_, feeds, {distance});
  EXPECT_EQ(RunNanChecked(*plan, feeds)[0].ToVector<float>(), Values{0});
}

// Fresh memory is poison in tests, which must not help here.
class SeesUsedMemory : public WriteCheck {
 public:
  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override {
    for (const int output : plan.ops()[instruction.context].outputs) {
      Tensor(tensors[output]).data<float>()[1] = 7;
    }
    WriteCheck::Before(plan, instruction, tensors);
  }
};

TEST_F(DebugRunTest, AKernelThatLeavesElementsIsNamed) {
  Program program;
  program.Data("x", DType::kFloat32, {3});
  const std::string half = Append(&program, "test_scratch", {{"X", {"x"}}}, {},
                                  "require variant=half");
  const std::string end = Append(&program, "test_divide", {{"X", {half}}});
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  const auto plan = executor_.Prepare(program, feeds, {end});
  SeesUsedMemory used;
  const std::function<void()> runs[] = {
      [&] { plan->RunObserved(feeds, nullptr, used); },
      [&] { RunNanChecked(*plan, feeds); },
      [&] { RunSynchronised(*plan, feeds); }};
  for (const auto& run : runs) {
    ExpectError(
        ErrorCode::kInternal, "run.unwritten",
        {"test_scratch: kernel half left 1 of 3 elements of output " + half +
             " (float32 [3] at cpu) unwritten, the first is "
             "element 1",
         "in op 0 (test_scratch)", "created at"},
        run);
  }
}

TEST_F(DebugRunTest, SynchronisedRunsGiveTheSame) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  EXPECT_EQ(RunSynchronised(*Prepare(feeds), feeds)[0].ToVector<float>(),
            Prepare(feeds)->Run(feeds)[0].ToVector<float>());
}

TEST_F(DebugRunTest, KeepsEveryValue) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  const auto values = RunKeepingAll(*Prepare(feeds), feeds);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values.at(sum_).ToVector<float>(), (Values{2, 4, 8}));
  EXPECT_EQ(values.at(inverse_).ToVector<float>(),
            (Values{0.5f, 0.25f, 0.125f}));
  EXPECT_EQ(values.at(end_).ToVector<float>(), (Values{2.5f, 4.25f, 8.125f}));
}

TEST_F(DebugRunTest, NamesAreInTheOrderOfTheRun) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  std::map<std::string, Tensor> values;
  std::vector<std::string> order;
  RunKeepingAll(*Prepare(feeds), feeds, nullptr, &values, &order);
  EXPECT_EQ(order, (std::vector<std::string>{sum_, inverse_, end_}));
}

TEST_F(DebugRunTest, KeepingEveryValueDoesNotTrain) {
  Program program;
  Scope scope;
  const std::string inverse = TrainingStep(&program, &scope);
  const Feeds feeds = {{"x", Floats({2}, {1, 2})}};
  const auto plan = executor_.Prepare(program, feeds, {inverse});
  const auto values = RunKeepingAll(*plan, feeds, &scope);
  EXPECT_EQ(values.at("w").ToVector<float>(), (Values{2, 2.5f}));
  EXPECT_EQ(Stored(scope), (Values{1, 2}));
}

class Counter : public RunObserver {
 public:
  void Before(const Plan&, const Instruction&, const Tensor*) override {
    ++before;
  }
  void After(const Plan&, const Instruction&, const Tensor*) override {
    if (++after == fail_at) {
      Raise(ErrorCode::kInternal, "test.observer", "seen enough");
    }
  }
  int before = 0;
  int after = 0;
  int fail_at = -1;
};

TEST_F(DebugRunTest, AnObserverSeesEveryInstructionAndMayStopTheRun) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  const auto plan = Prepare(feeds);
  Counter counter;
  plan->RunObserved(feeds, nullptr, counter);
  EXPECT_EQ(counter.before, static_cast<int>(plan->instructions().size()));
  EXPECT_EQ(counter.after, counter.before);
  Counter stopper;
  stopper.fail_at = 2;
  ExpectError(ErrorCode::kInternal, "test.observer", {"in op 1"},
              [&] { plan->RunObserved(feeds, nullptr, stopper); });
  EXPECT_EQ(stopper.before, 2);
}

TEST_F(DebugRunTest, ObservedRunsStopWhenToldTo) {
  const Feeds feeds = {{"x", Floats({3}, {1, 2, 4})}};
  const auto plan = Prepare(feeds);
  SetCancelRequested(true);
  EXPECT_THROW(RunSynchronised(*plan, feeds), Error);
  SetCancelRequested(false);
  EXPECT_NO_THROW(RunSynchronised(*plan, feeds));
}

}  // namespace
}  // namespace sluice
