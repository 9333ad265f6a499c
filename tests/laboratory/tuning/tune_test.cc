#include <algorithm>
#include <cmath>

#include "tests/laboratory/lab_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/lines_of.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/laboratory/compare.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TuneResult Tune(Executor& executor,
                const LabProgram& lab,
                const TuneOptions& options = {.budget_seconds = 1}) {
  return sluice::Tune(executor, lab.program, lab.feeds, lab.fetches, nullptr,
                      options);
}

std::string Chosen(Executor& executor, const LabProgram& lab) {
  return executor.Prepare(lab.program, lab.feeds, lab.fetches)
      ->decisions()[0]
      .kernel->variant;
}

std::string Refusal(Executor& executor,
                    const LabProgram& lab,
                    const std::string& variant) {
  const auto plan = executor.Prepare(lab.program, lab.feeds, lab.fetches);
  for (const Candidate& candidate : plan->decisions()[0].candidates()) {
    if (candidate.kernel->variant == variant &&
        candidate.kernel->key.dtype == DType::kFloat32) {
      return candidate.refusal;
    }
  }
  return "no such candidate";
}

// A planted mistake, and the text that the message must contain.
struct Mistake {
  std::string variant;
  std::string message;
};

class TuneMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(TuneMistakes, AreNamedAndTheKernelIsNeverChosen) {
  const auto& [variant, message] = GetParam();
  // Tests fill fresh memory with NaNs, which must not help here.
  SetFillFreshMemory(false);
  const UseVariants use({variant, "fast"});
  const LabProgram lab;
  Executor executor;
  const TuneResult result = Tune(executor, lab);
  ASSERT_THAT(result.signatures, SizeIs(1));
  const TunedKernel* wrong = FindKernel(result.signatures[0], variant);
  ASSERT_NE(wrong, nullptr);
  EXPECT_EQ(wrong->verdict, Verdict::kWrong);
  EXPECT_THAT(wrong->message, HasSubstr(message));
  EXPECT_EQ(wrong->timing.rounds, 0);
  const TunedKernel* fast = FindKernel(result.signatures[0], "fast");
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(fast->verdict, Verdict::kOk) << fast->message;
  EXPECT_GT(fast->timing.rounds, 0);

  EXPECT_NE(Chosen(executor, lab), variant);
  EXPECT_THAT(Refusal(executor, lab, variant),
              AllOf(StartsWith("gave wrong results: "), HasSubstr(message)));
  EXPECT_THAT(executor.Explain(lab.program, {.all = true}),
              HasSubstr("gave wrong results: "));
}

INSTANTIATE_TEST_SUITE_P(
    ,
    TuneMistakes,
    ::testing::Values(
        Mistake{"thousandth", "Out[16] is 33.5"},
        Mistake{"tail", "] is 0, test_lab/plain (cpu float64 PLAIN) gives"},
        Mistake{"nan_lost", "with NaNs in the inputs Out["},
        Mistake{"skips", "Out[2] is not written"},
        Mistake{"overruns", "it writes after the memory of Out"},
        Mistake{"fickle", "Out[0] has other bits when it runs again"},
        Mistake{"raises", "it raised \"test_lab: a planted failure"},
        Mistake{"raises_foreign", "it raised \"a foreign one\""},
        Mistake{"raises_int", "it raised what is no std::exception"},
        Mistake{"scribbles", "it changes X"}),
    [](const auto& info) { return info.param.variant; });

TEST(Tune, CompareSaysWhichKernelsRecordsCallWrong) {
  const UseVariants use({"tail", "fast"});
  const LabProgram lab;
  Executor executor;
  Tune(executor, lab);
  const auto text = [&](std::string_view hints) {
    return ToString(Compare(lab.program, lab.feeds, "", hints));
  };
  const std::string asked = text("prefer variant=tail");
  EXPECT_THAT(asked, HasSubstr("NOT COMPARED: hints ask for 1 kernel, which "));
  EXPECT_THAT(asked, HasSubstr("#0 test_lab/tail"));
  EXPECT_THAT(text("prefer variant=fast"), Not(HasSubstr("NOT COMPARED")));
  // Both plans have the program's own hints.
  Program hinted = lab.program;
  hinted.SetHints("prefer variant=tail");
  EXPECT_EQ(Compare(hinted, lab.feeds, "", "").known_wrong.size(), 1U);
}

TEST(Tune, ExplainSaysWhichOpsDoNotObeyAHintOfAWrongKernel) {
  const UseVariants use({"tail", "fast"});
  LabProgram lab;
  Executor executor;
  Tune(executor, lab);
  const int64_t other = NewSize();  // of which there is no record
  lab.program.Data("y", DType::kFloat32, {other});
  lab.fetches.push_back(lab.program.AppendOp("test_lab", {{"X", {"y"}}}, {})
                            .outputs[0]
                            .second[0]);
  const std::vector<float> y(static_cast<size_t>(other), 0.5F);
  lab.feeds.emplace_back("y", Tensor::FromVector<float>({other}, y));
  lab.program.SetHints("prefer variant=tail");
  const auto plan = executor.Prepare(lab.program, lab.feeds, lab.fetches);
  ASSERT_THAT(plan->decisions(), SizeIs(2));
  EXPECT_TRUE(plan->decisions()[0].answers.at(0).known_wrong);
  EXPECT_TRUE(plan->decisions()[1].answers.at(0).obeyed);
  EXPECT_FALSE(plan->decisions()[1].answers.at(0).known_wrong);
  ASSERT_THAT(plan->hint_notes(), SizeIs(1));
  EXPECT_THAT(plan->hint_notes()[0].text,
              HasSubstr("is not obeyed by every op; op 0 (test_lab): "
                        "test_lab/tail (cpu float32 PLAIN) is refused: gave "
                        "wrong results: "));
}

TEST(Tune, FindsMistakesOnValuesThatAreNotFinite) {
  for (const double value : {std::nan(""), HUGE_VAL}) {
    const UseVariants use({"tail", "fast"});
    LabProgram lab;
    Tensor& feed = lab.feeds[0].second;
    std::fill_n(feed.data<float>(), feed.numel(), static_cast<float>(value));
    Executor executor;
    const TuneResult result = Tune(executor, lab);
    ASSERT_THAT(result.signatures, SizeIs(1));
    const TunedKernel* wrong = FindKernel(result.signatures[0], "tail");
    ASSERT_NE(wrong, nullptr);
    EXPECT_EQ(wrong->verdict, Verdict::kWrong);
    EXPECT_EQ(FindKernel(result.signatures[0], "fast")->verdict, Verdict::kOk);
    EXPECT_NE(Chosen(executor, lab), "tail");
  }
}

TEST(Tune, UndoesWhatKernelsDoToTheirInputs) {
  const UseVariants use({"fast", "scribbles", "raises", "greedy"});
  const int64_t size = NewSize();
  LabProgram lab(size);
  lab.program.SetHints("prefer variant=fast");
  Executor executor;
  const TuneResult result = Tune(executor, lab);
  ASSERT_THAT(result.signatures, SizeIs(1));
  const TunedKernel* wrong = FindKernel(result.signatures[0], "scribbles");
  ASSERT_NE(wrong, nullptr);
  EXPECT_EQ(wrong->verdict, Verdict::kWrong);
  EXPECT_EQ(lab.feeds[0].second.ToVector<float>(),
            LabProgram(size).feeds[0].second.ToVector<float>());
}

TEST(Tune, TheFasterOfTwoRightKernelsRunsAfterwards) {
  const UseVariants use({"fast", "slow"});
  const LabProgram lab;
  Executor executor;
  executor.Run(lab.program, lab.feeds, lab.fetches);
  const TuneResult result = Tune(executor, lab);
  ASSERT_THAT(result.signatures, SizeIs(1));
  const TunedSignature& tuned = result.signatures[0];
  const TunedKernel* slow = FindKernel(tuned, "slow");
  const TunedKernel* fast = FindKernel(tuned, "fast");
  ASSERT_TRUE(slow != nullptr && fast != nullptr);
  EXPECT_GT(slow->timing.median, 2 * fast->timing.median);
  ASSERT_GE(tuned.winner, 0);
  EXPECT_NE(tuned.kernels[tuned.winner].kernel->variant, "slow");
  EXPECT_NE(Chosen(executor, lab), "slow");
}

TEST(Tune, OtherExecutorsUseWhatOneHasMeasured) {
  const UseVariants use({"slow"});
  const LabProgram lab;
  Executor other;
  ASSERT_EQ(Chosen(other, lab), "slow");
  Executor executor;
  Tune(executor, lab);
  EXPECT_EQ(Chosen(other, lab), "plain");
}

TEST(Tune, OpsOfOneSignatureAreMeasuredOnce) {
  const UseVariants use({"fast"});
  const LabProgram lab(NewSize(), 3);
  Executor executor;
  const TuneResult result = Tune(executor, lab);
  ASSERT_THAT(result.signatures, SizeIs(1));
  EXPECT_EQ(result.signatures[0].ops, 3);
  EXPECT_EQ(result.left_out, 0);
}

TEST(Tune, WhatHasRecordsIsMeasuredAgainOnDemandOnly) {
  const UseVariants use({"fast", "slow"});
  const LabProgram lab;
  Executor executor;
  Tune(executor, lab);
  const TuneResult second = Tune(executor, lab);
  EXPECT_THAT(second.signatures, IsEmpty());
  EXPECT_EQ(second.known, 1);
  const TuneResult third =
      Tune(executor, lab, {.budget_seconds = 1, .again = true});
  EXPECT_THAT(third.signatures, SizeIs(1));
}

TEST(Tune, AKernelWithoutMemoryIsNotCalledWrong) {
  const UseVariants use({"greedy"});
  const LabProgram lab;
  Executor executor;
  const auto plan = executor.Prepare(lab.program, lab.feeds, lab.fetches);
  // The plan itself must run, so it uses another kernel.
  const KernelHintGuard hint("prefer variant=plain");
  const TuneResult result = Tune(executor, lab);
  ASSERT_THAT(result.signatures, SizeIs(1));
  const TunedKernel* greedy = FindKernel(result.signatures[0], "greedy");
  ASSERT_NE(greedy, nullptr);
  EXPECT_EQ(greedy->verdict, Verdict::kUnchecked);
  EXPECT_THAT(greedy->message, HasSubstr("no memory for it"));
  EXPECT_EQ(Refusal(executor, lab, "greedy"), "");
}

TEST(Tune, ABudgetOfNothingIsRefused) {
  const LabProgram lab;
  Executor executor;
  const auto plan = executor.Prepare(lab.program, lab.feeds, lab.fetches);
  for (const double budget : {0.0, -1.0, std::nan("")}) {
    const TuneOptions options{.budget_seconds = budget};
    ExpectError(ErrorCode::kInvalidArgument, "tune.budget",
                {"more than 0 seconds"}, [&] { Tune(executor, lab, options); });
    ExpectError(ErrorCode::kInvalidArgument, "tune.budget",
                {"more than 0 seconds"},
                [&] { sluice::Tune(*plan, lab.feeds, nullptr, options); });
  }
}

TEST(Tune, TheBudgetIsKept) {
  const UseVariants use({"sleepy", "fast"});
  Program program;
  Feeds feeds;
  Fetches fetches;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "x" + std::to_string(i);
    const int64_t size = NewSize();
    program.Data(name, DType::kFloat32, {size});
    const std::vector<float> x(static_cast<size_t>(size), 1);
    feeds.emplace_back(name, Tensor::FromVector<float>({size}, x));
    fetches.emplace_back(
        program.AppendOp("test_lab", {{"X", {name}}}, {}).outputs[0].second[0]);
  }
  Executor executor;
  const KernelHintGuard hint("prefer variant=fast");
  const TuneResult result = sluice::Tune(executor, program, feeds, fetches,
                                         nullptr, {.budget_seconds = 0.5});
  // Each needs four calls of sleepy, 80 ms, before any race.
  EXPECT_GT(result.left_out, 0);
  EXPECT_FALSE(result.signatures.empty());
  EXPECT_LT(result.seconds, 0.5 * 1.1 + 0.1);
}

TEST(Tune, ProgressSaysWhatComesNextAndMayEndIt) {
  const UseVariants use({"fast"});
  const LabProgram lab;
  Executor executor;
  std::vector<std::string> seen;
  TuneOptions options{.budget_seconds = 1};
  options.progress = [&](int done, int total, const std::string& signature) {
    seen.push_back(Format("{} of {}", done, total));
    EXPECT_THAT(signature, StartsWith("test_lab(X float32["));
    return false;
  };
  const TuneResult result = Tune(executor, lab, options);
  EXPECT_THAT(seen, ElementsAre("0 of 1"));
  EXPECT_TRUE(result.cancelled);
  EXPECT_THAT(result.signatures, IsEmpty());
  EXPECT_EQ(result.left_out, 1);
}

// Two signatures; Ctrl-C arrives before the second one.
TEST(Tune, ACancelledRunKeepsWhatWasMeasured) {
  const UseVariants use({"slow"});
  const LabProgram lab;
  const LabProgram next;
  Program program;
  Feeds feeds;
  Fetches fetches;
  for (const LabProgram* one : {&lab, &next}) {
    const std::string name = one == &lab ? "a" : "b";
    const Tensor& x = one->feeds[0].second;
    program.Data(name, DType::kFloat32, x.dims());
    feeds.emplace_back(name, x);
    fetches.emplace_back(
        program.AppendOp("test_lab", {{"X", {name}}}, {}).outputs[0].second[0]);
  }
  Executor executor;
  TuneOptions options{.budget_seconds = 1};
  options.progress = [&](int done, int /*total*/, const std::string&) {
    if (done == 1) SetCancelRequested(true);
    return true;
  };
  const TuneResult result =
      sluice::Tune(executor, program, feeds, fetches, nullptr, options);
  SetCancelRequested(false);
  EXPECT_TRUE(result.cancelled);
  EXPECT_EQ(result.left_out, 1);
  ASSERT_EQ(result.signatures.size(), 2u);
  EXPECT_EQ(result.signatures[1].winner, -1);
  EXPECT_EQ(Chosen(executor, lab), "plain");
  // Not measured, but of a similar size.
  EXPECT_EQ(Chosen(executor, next), "plain");
}

// The first op of the plan raises before the second one has run.
TEST(Tune, OpsAfterAKernelThatRaisesAreTunedToo) {
  const UseVariants use({"raises"});
  const int64_t size = NewSize();
  Program program;
  program.Data("x", DType::kFloat32, {size});
  const auto& first = program.AppendOp("test_lab", {{"X", {"x"}}}, {});
  const std::string value = first.outputs[0].second[0];
  const auto& second = program.AppendOp("exp", {{"X", {value}}}, {});
  const Fetches fetches = {second.outputs[0].second[0]};
  const std::vector<float> x(static_cast<size_t>(size), 0.5f);
  Executor executor;
  const TuneResult result = sluice::Tune(
      executor, program, {{"x", Tensor::FromVector<float>({size}, x)}}, fetches,
      nullptr, {.budget_seconds = 2});
  ASSERT_THAT(result.signatures, SizeIs(2));
  EXPECT_EQ(result.signatures[1].op, "exp");
  EXPECT_EQ(result.left_out, 0);
}

// If all kernels of an op are wrong or raise, the run reports it.
TEST(Tune, AProgramThatCannotRunRaisesWhatItsRunRaises) {
  const UseVariants use({"raises"});
  const LabProgram lab;
  Executor executor;
  const KernelHintGuard hint("require variant=raises");
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"gave wrong results: it raised", "SLUICE_RECORDS=off"},
              [&] { Tune(executor, lab); });
}

TEST(Tune, WhatProgressRaisesIsRaised) {
  const LabProgram lab;
  Executor executor;
  TuneOptions options{.budget_seconds = 1};
  options.progress = [](int, int, const std::string&) -> bool {
    Raise(ErrorCode::kNotFound, "tune_test.progress", "no terminal");
  };
  ExpectError(ErrorCode::kNotFound, "tune_test.progress", {"no terminal"},
              [&] { Tune(executor, lab, options); });
}

TEST(Tune, ATrainingProgramKeepsItsParameters) {
  Program program;
  program.Data("x", DType::kFloat32, {4});
  program.Data("rate", DType::kFloat32, {1});
  program.Persistable("w", DType::kFloat32, {4});
  program.AppendOp(
      "sgd", {{"Param", {"w"}}, {"Grad", {"x"}}, {"LearningRate", {"rate"}}},
      {});
  const Feeds feeds = {{"x", Tensor::FromVector<float>({4}, {1, 2, 3, 4})},
                       {"rate", Tensor::FromVector<float>({1}, {1})}};
  Executor executor;
  const Tensor w = Tensor::FromVector<float>({4}, {9, 9, 9, 9});
  *executor.scope().Var("w").GetMutable<Tensor>() = w;
  const TuneResult result =
      sluice::Tune(executor, program, feeds, {"w"}, nullptr);
  EXPECT_THAT(result.signatures, SizeIs(1));
  const Tensor& after = *executor.scope().Var("w").GetMutable<Tensor>();
  EXPECT_EQ(after.ToVector<float>(), (std::vector<float>{9, 9, 9, 9}));
  EXPECT_EQ(executor.Run(program, feeds, {"w"})[0].ToVector<float>(),
            (std::vector<float>{8, 7, 6, 5}));
}

TEST(Tune, TheResultReadsLikeAReport) {
  const UseVariants use({"slow", "thousandth"});
  const LabProgram lab(NewSize(), 2);
  Executor executor;
  const KernelHintGuard hint("prefer variant=slow");
  const TuneResult result = Tune(executor, lab);
  const std::string text = ToString(result);
  EXPECT_THAT(text, StartsWith("1 of 1 signature gets another kernel, 0 stay\n"
                               "kernels by themselves, where timed: "));
  EXPECT_THAT(text, HasSubstr(" times as fast\n"));
  EXPECT_THAT(text, HasSubstr("0  test_lab x2  slow    plain "));
  EXPECT_THAT(text, HasSubstr("\nWRONG test_lab/thousandth (cpu float32 PLAIN)"
                              " on test_lab(X float32["));
  EXPECT_THAT(text, HasSubstr("1 signature measured in "));
  EXPECT_THAT(text, HasSubstr("ToString(result, true)\n"));
  const std::string all = ToString(result, true);
  EXPECT_THAT(all, HasSubstr("op 0 and 1 more: test_lab(X float32["));
  EXPECT_THAT(all, HasSubstr("  slow -> plain, "));
  EXPECT_THAT(all, HasSubstr("\n  *   plain "));
  EXPECT_THAT(all, HasSubstr("\n   <  slow "));
  EXPECT_THAT(all, HasSubstr("    thousandth WRONG: Out["));
  EXPECT_LT(all.find("* runs now, < ran before"), all.find("\n  *   plain"));
  EXPECT_THAT(all, Not(HasSubstr("result, true")));
  for (const std::string& line : LinesOf(text + all)) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Tune, SignaturesThatKeepTheirKernelAreOnlyCounted) {
  KernelDef kernel;
  TuneResult result;
  for (int i = 0; i < 3; ++i) {
    TunedSignature tuned;
    tuned.op = "relu";
    tuned.signature = "relu(X float32[5])";
    tuned.kernels.resize(1);
    tuned.kernels[0].kernel = &kernel;
    tuned.kernels[0].timing.rounds = 5;
    tuned.kernels[0].timing.median = 1e-3;
    tuned.before = tuned.winner = 0;
    result.signatures.push_back(tuned);
  }
  EXPECT_THAT(ToString(result),
              StartsWith("0 of 3 signatures get another kernel, 3 stay\n"
                         "kernels by themselves, where timed: 3.00 ms "
                         "-> 3.00 ms, no gain\n3 signatures measured in "));
  EXPECT_THAT(ToString(result, true), HasSubstr("  stays with plain\n"));
  TunedSignature& tied = result.signatures[0];
  tied.kernels.push_back(tied.kernels[0]);
  tied.winner = 1;
  tied.tie = true;
  EXPECT_THAT(ToString(result), HasSubstr("1000   a tie\n"));
  tied.kernels[1].timing.median = 0.5e-3;
  EXPECT_THAT(ToString(result), HasSubstr("  500  within noise\n"));
  EXPECT_THAT(ToString(result), HasSubstr(" -> 3.00 ms, no gain\n"));
}

TEST(Tune, TheReportSaysWhyOpsWereLeftOut) {
  TuneResult result;
  result.left_out = 3;
  EXPECT_THAT(ToString(result), HasSubstr("3 left out for want of time"));
  result.disturbed = 2;
  EXPECT_THAT(ToString(result),
              HasSubstr("3 left out, 2 of them since\n  other programs"));
  result.disturbed = 3;
  EXPECT_THAT(ToString(result), HasSubstr("3 left out, all of them since"));
  TunedSignature disturbed;
  disturbed.disturbed = true;
  disturbed.complete = false;
  result.signatures.push_back(disturbed);
  EXPECT_THAT(ToString(result, true), HasSubstr("no times are kept"));
  TunedSignature made_by_a_pass;
  made_by_a_pass.has_reference = false;
  result.signatures.push_back(made_by_a_pass);
  EXPECT_THAT(ToString(result, true),
              HasSubstr("not measured: the op has no plain"));
  EXPECT_THAT(ToString(result), HasSubstr("0 signatures measured"));
  EXPECT_THAT(ToString(result), HasSubstr("1 without a plain kernel"));
}

TEST(Tune, KeepsAPlanOnlyIfItWinsAsAWhole) {
  Executor executor;
  const LabProgram faster(200, 2);
  {
    const UseVariants variants({"slow", "fast"});
    const TuneResult result = Tune(executor, faster);
    EXPECT_FALSE(result.withdrawn) << ToString(result);
    EXPECT_GE(result.run_after.run.rounds, 1);
    EXPECT_THAT(ToString(result),
                AllOf(HasSubstr("\na run before: "), HasSubstr("kept")));
    EXPECT_NE(Chosen(executor, faster), "slow");
  }
  const LabProgram slower(60, 2);
  const UseVariants variants({"slow", "sly"});
  ASSERT_EQ(Chosen(executor, slower), "slow");
  // Without the plain kernel, which is as fast.
  const KernelHintGuard guard("test_lab: exclude variant=plain");
  const TuneResult result = Tune(executor, slower);
  EXPECT_EQ(
      result.signatures[0].kernels[result.signatures[0].winner].kernel->variant,
      "sly");
  EXPECT_TRUE(result.withdrawn) << ToString(result);
  EXPECT_THAT(ToString(result), HasSubstr(" WITHDRAWN, the old plan"));
  EXPECT_EQ(Chosen(executor, slower), "slow");
}

}  // namespace
}  // namespace sluice::testing
