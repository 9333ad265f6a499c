// Updates that end a plan write to the memory of the scope, as long as no run
// can tell.
#include <utility>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::FailTestOps;
using sluice::testing::Floats;

using Values = std::vector<float>;

class PlanUpdatesTest : public ::testing::Test {
 protected:
  PlanUpdatesTest() {
    sluice::testing::UseTestOps();
    program_.Data("d", DType::kFloat32, {2});
    for (const char* name : {"w", "v"}) {
      program_.Persistable(name, DType::kFloat32, {2});
    }
    Of("w") = Floats({2}, {1, 2});
    Of("v") = Floats({2}, {10, 20});
    RememberMemory();
  }
  ~PlanUpdatesTest() override { SetCancelRequested(false); }

  Tensor& Of(const char* name) {
    return *scope_.Var(name).GetMutable<Tensor>();
  }
  Values ValuesOf(const char* name) { return Of(name).ToVector<float>(); }
  const void* MemoryOf(const char* name) {
    return std::as_const(Of(name)).raw_data();
  }
  void RememberMemory() {
    w_ = MemoryOf("w");
    v_ = MemoryOf("v");
  }
  bool InPlace(const char* name) {
    return MemoryOf(name) == (name[0] == 'w' ? w_ : v_);
  }
  // param += delta
  void Update(const char* param,
              const std::string& delta = "d",
              const char* op = "test_commit",
              AttributeMap attributes = {}) {
    Append(&program_, op, {{"Param", {param}}, {"Delta", {delta}}},
           std::move(attributes));
  }
  std::vector<Tensor> Run(const Fetches& fetches = {}, float delta = 1) {
    return executor_.Run(program_, {{"d", Floats({2}, {delta, delta})}},
                         fetches, &scope_);
  }
  void ExpectUnchanged() {
    EXPECT_EQ(ValuesOf("w"), (Values{1, 2}));
    EXPECT_EQ(ValuesOf("v"), (Values{10, 20}));
    EXPECT_TRUE(InPlace("w"));
    EXPECT_TRUE(InPlace("v"));
  }

  Program program_;
  Scope scope_;
  Executor executor_;
  const void* w_ = nullptr;
  const void* v_ = nullptr;
};

TEST_F(PlanUpdatesTest, AtTheEndAreInPlace) {
  Update("w");
  Update("v");
  const auto version = Of("w").storage_version();
  for (const float runs : {1.0F, 2.0F, 3.0F}) {
    Run();
    EXPECT_EQ(ValuesOf("w"), (Values{1 + runs, 2 + runs}));
    EXPECT_EQ(ValuesOf("v"), (Values{10 + runs, 20 + runs}));
    EXPECT_TRUE(InPlace("w"));
    EXPECT_TRUE(InPlace("v"));
  }
  EXPECT_NE(Of("w").storage_version(), version);
}

TEST_F(PlanUpdatesTest, ThatMayFailAreNotInPlace) {
  Update("w", "d", "test_update");
  Update("v");
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
  EXPECT_FALSE(InPlace("w"));
  EXPECT_TRUE(InPlace("v"));
}

TEST_F(PlanUpdatesTest, BeforeAnOpThatMayFailAreNotInPlace) {
  Update("w");
  const std::string late = Append(&program_, "test_fail", {{"X", {"d"}}});
  Update("v");
  {
    const FailTestOps fail;
    EXPECT_THROW(Run({late}), Error);
  }
  ExpectUnchanged();
  Run({late});
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
  EXPECT_FALSE(InPlace("w"));
  EXPECT_TRUE(InPlace("v"));
}

TEST_F(PlanUpdatesTest, LeaveATensorAloneThatSomebodyHolds) {
  Update("w");
  const Tensor held = Of("w");
  Run();
  EXPECT_EQ(held.ToVector<float>(), (Values{1, 2}));
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
}

TEST_F(PlanUpdatesTest, LeaveAVariableAloneThatSharesTheMemory) {
  Update("w");
  Of("v") = Of("w");
  Run();
  EXPECT_EQ(ValuesOf("v"), (Values{1, 2}));
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
}

TEST_F(PlanUpdatesTest, LeaveBorrowedMemoryAlone) {
  Update("w");
  Values values = {1, 2};
  Of("w") = Tensor::Borrow(CPUPlace(), DType::kFloat32, {2}, values.data());
  Run();
  EXPECT_EQ(values, (Values{1, 2}));
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
}

TEST_F(PlanUpdatesTest, LeaveTheVariableAloneThatTheyOnlyRead) {
  program_.AppendOp("test_commit", {{"Param", {"w"}}, {"Delta", {"d"}}}, {}, {},
                    {{"ParamOut", {"v"}}});
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{1, 2}));
  EXPECT_EQ(ValuesOf("v"), (Values{2, 3}));
}

TEST_F(PlanUpdatesTest, OfAnOpThatReadsItTwiceAreNotInPlace) {
  Update("w", "w");
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{2, 4}));
  EXPECT_FALSE(InPlace("w"));
}

TEST_F(PlanUpdatesTest, OfOneVariableFollowEachOther) {
  Update("w");
  Update("w");
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{3, 4}));
}

TEST_F(PlanUpdatesTest, SeeWhatLaterOnesReplace) {
  Update("v", "w");
  Update("w");
  Run();
  EXPECT_EQ(ValuesOf("v"), (Values{11, 22}));
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
}

TEST_F(PlanUpdatesTest, SeeWhatEarlierOnesWrote) {
  Update("w");
  Update("v", "w");
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
  EXPECT_EQ(ValuesOf("v"), (Values{12, 23}));
}

// Former and new values, fetched and in another shape.
TEST_F(PlanUpdatesTest, DoNotChangeWhatIsFetched) {
  program_.AppendOp("reshape", {{"X", {"w"}}},
                    {{"shape", std::vector<int64_t>{2, 1}}});
  const std::string before = program_.Output("Out").name();
  Update("w");
  const auto first = Run({before, "w"});
  const auto second = Run({before, "w"});
  EXPECT_TRUE(InPlace("w"));
  EXPECT_EQ(first[0].ToVector<float>(), (Values{1, 2}));
  EXPECT_EQ(first[1].ToVector<float>(), (Values{2, 3}));
  EXPECT_EQ(second[0].ToVector<float>(), (Values{2, 3}));
  EXPECT_EQ(second[1].ToVector<float>(), (Values{3, 4}));
}

TEST_F(PlanUpdatesTest, DoNotBeginWhenAnEarlierOpFails) {
  const std::string late = Append(&program_, "test_fail", {{"X", {"d"}}});
  Update("w", late);
  Update("v", late);
  {
    const FailTestOps fail;
    EXPECT_THROW(Run(), Error);
  }
  ExpectUnchanged();
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
  EXPECT_TRUE(InPlace("w"));
}

TEST_F(PlanUpdatesTest, DoNotBeginWhenAResultIsMissing) {
  const std::string some = Append(&program_, "test_some", {{"X", {"d"}}});
  Update("w");
  Update("v");
  ExpectError(ErrorCode::kInternal, "run.no_output", {some},
              [&] { Run({some}, -1); });
  ExpectUnchanged();
  Run({some}, 1);
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
}

TEST_F(PlanUpdatesTest, DoNotBeginWhenTheRunIsCancelled) {
  SetCancelRequested(true);
  Update("w");
  Update("v");
  ExpectError(ErrorCode::kFailedPrecondition, "run.cancelled",
              {"in op 0 (test_commit)"}, [&] { Run(); });
  ExpectUnchanged();
}

TEST_F(PlanUpdatesTest, AreNotCancelledHalfway) {
  Update("w", "d", "test_commit", {{"cancels", true}});
  Update("v");
  Run();
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
  EXPECT_EQ(ValuesOf("v"), (Values{11, 21}));
}

// Raises after the first update, or never.
class Stopper final : public RunObserver {
 public:
  explicit Stopper(bool stops) : stops_(stops) {}
  void After(const Plan& /*plan*/,
             const Instruction& /*instruction*/,
             const Tensor* /*tensors*/) override {
    if (stops_) Raise(ErrorCode::kInternal, "test.observer", "seen enough");
  }

 private:
  bool stops_;
};

TEST_F(PlanUpdatesTest, AreNotInPlaceUnderAnObserver) {
  Update("w");
  Update("v");
  const Feeds feeds = {{"d", Floats({2}, {1, 1})}};
  const auto plan = executor_.Prepare(program_, feeds, {});
  Stopper stops(true);
  EXPECT_THROW(plan->RunObserved(feeds, &scope_, stops), Error);
  ExpectUnchanged();
  Stopper goes_on(false);
  plan->RunObserved(feeds, &scope_, goes_on);
  EXPECT_EQ(ValuesOf("w"), (Values{2, 3}));
  EXPECT_EQ(ValuesOf("v"), (Values{11, 21}));
  RememberMemory();
  plan->Run(feeds, &scope_);
  EXPECT_EQ(ValuesOf("v"), (Values{12, 22}));
  EXPECT_TRUE(InPlace("w"));
}

class TogetherTest : public ::testing::Test {
 protected:
  static constexpr int64_t kCount = 1 << 14;

  TogetherTest() {
    sluice::testing::UseTestOps();
    program_.Data("d", DType::kFloat32, {kCount});
    for (int i = 0; i <= 20; ++i) {
      program_.Persistable(Name(i), DType::kFloat32, {kCount});
      *scope_.Var(Name(i)).GetMutable<Tensor>() =
          sluice::testing::Iota({kCount});
    }
  }
  static std::string Name(int i) { return "p" + std::to_string(i); }
  void Update(int i, const std::string& delta, const char* op) {
    Append(&program_, op, {{"Param", {Name(i)}}, {"Delta", {delta}}});
  }
  void UpdateTwenty() {
    for (int i = 0; i < 20; ++i) {
      Update(i, "d", "test_commit");
    }
  }
  Feeds Fed() const { return {{"d", sluice::testing::Iota({kCount})}}; }
  // How many updates may run side by side.
  size_t Together() {
    return Executor().Prepare(program_, Fed(), {})->commit().together;
  }

  Program program_;
  Scope scope_;
};

TEST_F(TogetherTest, SmallUpdatesRunSideBySide) {
  UpdateTwenty();
  EXPECT_EQ(Together(), 20U);
  float runs = 0;
  for (const int threads : {1, 2, 5}) {
    const ThreadCountGuard guard(threads);
    const auto out = Executor().Run(program_, Fed(), {Name(7)}, &scope_);
    EXPECT_EQ(out[0].data<float>()[5], 5 * (++runs + 1));
    for (int i = 0; i < 20; ++i) {
      const auto values =
          scope_.FindVar(Name(i))->Get<Tensor>()->ToVector<float>();
      EXPECT_TRUE(values == out[0].ToVector<float>()) << i;
    }
  }
}

TEST_F(TogetherTest, NotIfOneReadsWhatAnotherWrote) {
  UpdateTwenty();
  Update(20, Name(3), "test_commit");
  EXPECT_EQ(Together(), 0U);
}

TEST_F(TogetherTest, NotIfOneReadsWhatAnotherReplaces) {
  Update(20, Name(3), "test_commit");
  UpdateTwenty();
  EXPECT_EQ(Together(), 0U);
}

TEST_F(TogetherTest, NotIfOneIsUpdatedTwice) {
  UpdateTwenty();
  Update(3, "d", "test_commit");
  EXPECT_EQ(Together(), 0U);
}

TEST_F(TogetherTest, NotBeforeAnOpThatMayFail) {
  UpdateTwenty();
  Update(20, "d", "test_update");
  EXPECT_EQ(Together(), 0U);
}

TEST(Together, NotIfTheyAreFew) {
  sluice::testing::UseTestOps();
  Program program;
  program.Data("d", DType::kFloat32, {2});
  program.Persistable("w", DType::kFloat32, {2});
  Append(&program, "test_commit", {{"Param", {"w"}}, {"Delta", {"d"}}});
  const auto plan =
      Executor().Prepare(program, {{"d", Floats({2}, {1, 1})}}, {});
  const PlanCommit& commit = plan->commit();
  EXPECT_EQ(commit.begin, 0U);
  EXPECT_EQ(commit.steps.size(), 1U);
  EXPECT_EQ(commit.together, 0U);
}

}  // namespace
}  // namespace sluice
