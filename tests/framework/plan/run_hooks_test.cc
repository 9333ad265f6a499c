#include "sluice/framework/plan/run_hooks.h"

#include <stdexcept>
#include <string>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// What the hooks below note, and the call at which they raise.
struct Calls {
  bool active = false;
  std::string noted{};
  std::string raise_at{};
  bool foreign = false;

  void Note(const std::string& call) {
    noted += call + " ";
    if (call != raise_at) return;
    if (foreign) throw std::runtime_error("a plain exception");
    Raise(ErrorCode::kUnimplemented, "test.hook", "it rains");
  }
};
Calls g_calls;

class NotingFrameHooks final : public FrameHooks {
 public:
  void BeforeRun(Scope* /*scope*/) override { g_calls.Note("before_run"); }
  void AfterInstruction(const Instruction& instruction) override {
    g_calls.Note("after_" + std::to_string(instruction.op_index));
  }
  void OnFailure() noexcept override { g_calls.noted += "failure "; }
  void AfterRun() noexcept override { g_calls.noted += "after_run "; }
};

class NotingPlanHooks final : public PlanHooks {
 public:
  std::unique_ptr<FrameHooks> NewFrame() const override {
    if (g_calls.raise_at == "new_frame") throw 42;
    return std::make_unique<NotingFrameHooks>();
  }
  void RequireAlone(std::string_view what) const override {
    Raise(ErrorCode::kUnimplemented, "test.alone", "no {}", what);
  }
};

class NotingRun final : public ProgramRun {
 public:
  ~NotingRun() override { g_calls.noted += "end "; }
  void Failed(std::string_view /*why*/) noexcept override {
    g_calls.noted += "failed ";
  }
};

class NotingHooks final : public RunHooks {
 public:
  std::string_view name() const override { return "the test"; }
  std::shared_ptr<const PlanHooks> Prepared(
      const Program& /*program*/,
      const Graph& /*graph*/,
      std::vector<std::string>* notes) override {
    if (!g_calls.active) return nullptr;
    g_calls.Note("prepared");
    notes->emplace_back("a note of the hooks");
    return std::make_shared<NotingPlanHooks>();
  }
  std::unique_ptr<ProgramRun> Begin(const Program& /*program*/) override {
    if (!g_calls.active) return nullptr;
    g_calls.Note("begin");
    return std::make_unique<NotingRun>();
  }
};

class RunHooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::UseTestOps();
    static NotingHooks hooks;
    AddRunHooks(&hooks);
    AddRunHooks(&hooks);  // without effect
    g_calls = {.active = true};
    const Var x = program_.Data("x", DType::kFloat32, {2});
    out_ = testing::Append(&program_, "test_divide", {{"X", {x.name()}}});
  }
  void TearDown() override { g_calls = {}; }

  std::vector<Tensor> Run() {
    return executor_.Run(
        program_, {{"x", Tensor::FromVector<float>({2}, {1, 2})}}, {out_});
  }

  Program program_;
  std::string out_;
  Executor executor_;
};

TEST_F(RunHooksTest, AreCalledInOrder) {
  Run();
  EXPECT_EQ(g_calls.noted, "begin prepared before_run after_0 after_run end ");
  g_calls.noted = "";
  Run();
  EXPECT_EQ(g_calls.noted, "begin before_run after_0 after_run end ");
  const auto plan = executor_.LastPlan(program_);
  EXPECT_THAT(plan->notes(), ::testing::Contains("a note of the hooks"));
  ASSERT_EQ(plan->hooks().size(), 1U);
  EXPECT_EQ(plan->hooks()[0].first, "the test");
  testing::ExpectError(ErrorCode::kUnimplemented, "test.alone", {"no tuning"},
                       [&] { plan->RequireAlone("tuning"); });
}

TEST_F(RunHooksTest, AreNamedWhateverTheyThrow) {
  g_calls.raise_at = "new_frame";
  testing::ExpectError(ErrorCode::kInternal, "run_hooks.unknown",
                       {"the run hooks of the test", "no std::exception"},
                       [&] { Run(); });
}

TEST_F(RunHooksTest, ThatRaiseAreNamedAndHarmTheRunOnly) {
  for (const char* call : {"begin", "prepared", "before_run", "after_0"}) {
    for (const bool foreign : {false, true}) {
      g_calls = {.active = true, .raise_at = call, .foreign = foreign};
      Executor fresh;
      try {
        fresh.Run(program_, {{"x", Tensor::FromVector<float>({2}, {1, 2})}},
                  {out_});
        ADD_FAILURE() << call;
      } catch (const Error& error) {
        EXPECT_EQ(error.check_id(),
                  foreign ? "run_hooks.foreign" : "test.hook");
        EXPECT_THAT(error.what(), HasSubstr("the run hooks of the test"));
        EXPECT_THAT(error.what(),
                    HasSubstr(foreign ? "a plain exception" : "it rains"));
      }
      const bool ran =
          std::string(call) == "before_run" || std::string(call) == "after_0";
      EXPECT_EQ(g_calls.noted.find("failure") != std::string::npos, ran);
      EXPECT_EQ(g_calls.noted.find("failed end") != std::string::npos,
                std::string(call) != "begin")
          << g_calls.noted;
      g_calls = {.active = true};
      EXPECT_EQ(Run().size(), 1U);
    }
  }
}

TEST_F(RunHooksTest, ThatRaiseAfterAnUpdateTakeItBack) {
  program_.Persistable("w", DType::kFloat32, {2});
  testing::Append(&program_, "test_commit",
                  {{"Param", {"w"}}, {"Delta", {"x"}}});
  Scope scope;
  Tensor& w = *scope.Var("w").GetMutable<Tensor>();
  w = testing::Floats({2}, {10, 20});
  const auto run = [&] {
    executor_.Run(program_, {{"x", testing::Floats({2}, {1, 2})}}, {}, &scope);
  };
  g_calls.raise_at = "after_1";
  EXPECT_THROW(run(), Error);
  EXPECT_EQ(w.ToVector<float>(), (std::vector<float>{10, 20}));
  g_calls.raise_at = "";
  run();
  EXPECT_EQ(w.ToVector<float>(), (std::vector<float>{11, 22}));
}

}  // namespace
}  // namespace sluice
