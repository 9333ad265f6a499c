// The effect of a run on the variables of a scope.
#include <chrono>
#include <future>
#include <thread>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;

using Values = std::vector<float>;

class PersistablesTest : public ::testing::Test {
 protected:
  PersistablesTest() {
    sluice::testing::UseTestOps();
    program_.Data("d", DType::kFloat32, {2});
    program_.Persistable("w", DType::kFloat32, {2});
    program_.Persistable("v", DType::kFloat32, {2});
    *scope_.Var("w").GetMutable<Tensor>() = Floats({2}, {1, 2});
    *scope_.Var("v").GetMutable<Tensor>() = Floats({2}, {10, 20});
  }
  // into = from + d
  void Update(const char* from, const char* into) {
    program_.AppendOp("test_update", {{"Param", {from}}, {"Delta", {"d"}}}, {},
                      {}, {{"ParamOut", {into}}});
  }
  std::vector<Tensor> Run(const Fetches& fetches = {}) {
    return executor_.Run(program_, {{"d", Floats({2}, {1, 1})}}, fetches,
                         &scope_);
  }
  Values Of(const char* name) {
    return scope_.FindVar(name)->Get<Tensor>()->ToVector<float>();
  }

  Program program_;
  Scope scope_;
  Executor executor_;
};

TEST_F(PersistablesTest, AreWrittenWithoutBeingFetched) {
  Update("w", "w");
  Run();
  EXPECT_EQ(Of("w"), (Values{2, 3}));
  Run();
  EXPECT_EQ(Of("w"), (Values{3, 4}));
  EXPECT_EQ(Of("v"), (Values{10, 20}));
}

TEST_F(PersistablesTest, AnOutputThatUpdatesGoesThereUnlessToldOtherwise) {
  EXPECT_EQ(
      Append(&program_, "test_update", {{"Param", {"w"}}, {"Delta", {"d"}}}),
      "w");
  EXPECT_EQ(
      Append(&program_, "test_update", {{"Param", {"d"}}, {"Delta", {"d"}}}),
      "test_update_2.ParamOut");
  Run();
  EXPECT_EQ(Of("w"), (Values{2, 3}));
}

TEST_F(PersistablesTest, LaterOpsReadTheNewValue) {
  Update("w", "w");
  Update("w", "w");
  Update("w", "v");
  Run();
  EXPECT_EQ(Of("w"), (Values{3, 4}));
  EXPECT_EQ(Of("v"), (Values{4, 5}));
}

TEST_F(PersistablesTest, EarlierOpsReadTheOldValue) {
  const std::string before =
      Append(&program_, "test_add", {{"X", {"w"}}, {"Y", {"w"}}});
  Update("w", "w");
  EXPECT_EQ(Run({before})[0].ToVector<float>(), (Values{2, 4}));
  EXPECT_EQ(Of("w"), (Values{2, 3}));
}

TEST_F(PersistablesTest, AllOrNothing) {
  Update("w", "w");
  Update("v", "v");
  Append(&program_, "test_fail", {{"X", {"w"}}});
  const std::string end = program_.Output("Out").name();
  const void* memory = scope_.FindVar("w")->Get<Tensor>()->raw_data();
  {
    const sluice::testing::FailTestOps fail;
    EXPECT_THROW(Run({end}), Error);
  }
  EXPECT_EQ(Of("w"), (Values{1, 2}));
  EXPECT_EQ(Of("v"), (Values{10, 20}));
  EXPECT_EQ(scope_.FindVar("w")->Get<Tensor>()->raw_data(), memory);
  EXPECT_EQ(Run({end})[0].ToVector<float>(), (Values{2, 3}));
  EXPECT_EQ(Of("v"), (Values{11, 21}));
}

TEST_F(PersistablesTest, WhatTheUserHoldsDoesNotChange) {
  Update("w", "w");
  const Tensor held = *scope_.FindVar("w")->Get<Tensor>();
  const Tensor fetched = Run({"w"})[0];
  EXPECT_EQ(held.ToVector<float>(), (Values{1, 2}));
  EXPECT_EQ(fetched.ToVector<float>(), (Values{2, 3}));
  Run();
  EXPECT_EQ(fetched.ToVector<float>(), (Values{2, 3}));
  // Changes of a fetched value do not affect the scope.
  static_cast<float*>(const_cast<void*>(fetched.raw_data()))[0] = 77;
  EXPECT_EQ(Of("w"), (Values{3, 4}));
}

TEST_F(PersistablesTest, FetchingWithoutWritingCopies) {
  const Tensor fetched = Run({"w"})[0];
  EXPECT_EQ(fetched.ToVector<float>(), (Values{1, 2}));
  EXPECT_NE(fetched.raw_data(), scope_.FindVar("w")->Get<Tensor>()->raw_data());
}

TEST_F(PersistablesTest, ANewVariableIsMade) {
  program_.Persistable("fresh", DType::kFloat32, {2});
  Update("w", "fresh");
  Run();
  EXPECT_EQ(Of("fresh"), (Values{2, 3}));
}

TEST_F(PersistablesTest, AreLookedForInTheParent) {
  Update("w", "w");
  Scope& child = scope_.NewScope();
  executor_.Run(program_, {{"d", Floats({2}, {1, 1})}}, {}, &child);
  EXPECT_EQ(Of("w"), (Values{2, 3}));
}

TEST_F(PersistablesTest, MustBeInitialised) {
  Update("w", "w");
  scope_.EraseVar("w");
  ExpectError(ErrorCode::kFailedPrecondition, "run.uninitialised",
              {"parameter w (float32 [2])", "run the startup program first"},
              [&] { Run(); });
  scope_.Var("w");
  EXPECT_THROW(Run(), Error);
}

TEST_F(PersistablesTest, MustHaveTheirType) {
  Update("w", "w");
  *scope_.Var("w").GetMutable<Tensor>() = Floats({3}, {1, 2, 3});
  ExpectError(ErrorCode::kInvalidArgument, "run.persistable_type",
              {"w must be float32 [2]", "holds float32 [3]"}, [&] { Run(); });
  *scope_.Var("w").GetMutable<Tensor>() =
      Tensor::FromVector<double>({2}, {1, 2});
  EXPECT_THROW(Run(), Error);
}

TEST_F(PersistablesTest, NeedAScope) {
  Update("w", "w");
  const Feeds feeds = {{"d", Floats({2}, {1, 1})}};
  const auto plan = executor_.Prepare(program_, feeds, {});
  ExpectError(ErrorCode::kInvalidArgument, "run.no_scope", {},
              [&] { plan->Run(feeds); });
}

// Returns whether a run of `fetches` ends while `lock` is held.
template <typename Lock, typename Call>
bool EndsDespite(Scope& scope, Call run) {
  std::future<void> done;
  bool ended = false;
  {
    const Lock lock(scope.lock());
    done = std::async(std::launch::async, run);
    ended = done.wait_for(std::chrono::milliseconds(100)) ==
            std::future_status::ready;
  }
  done.get();
  return ended;
}

TEST_F(PersistablesTest, AWriterHasTheScopeAlone) {
  Update("w", "w");
  const auto run = [&] { Run(); };
  EXPECT_FALSE(EndsDespite<std::shared_lock<std::shared_mutex>>(scope_, run));
}

TEST_F(PersistablesTest, ReadersShareTheScopeButWaitForAWriter) {
  const auto run = [&] { Run({"w"}); };
  run();  // prepares
  EXPECT_TRUE(EndsDespite<std::shared_lock<std::shared_mutex>>(scope_, run));
  EXPECT_FALSE(EndsDespite<std::unique_lock<std::shared_mutex>>(scope_, run));
}

TEST_F(PersistablesTest, WhoNeedsNoneWaitsForNobody) {
  const auto run = [&] { Run({"d"}); };
  run();
  EXPECT_TRUE(EndsDespite<std::unique_lock<std::shared_mutex>>(scope_, run));
}

}  // namespace
}  // namespace sluice
