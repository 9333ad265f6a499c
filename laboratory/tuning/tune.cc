#include "sluice/laboratory/tuning/tune.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/laboratory/tuning/signature_tuner.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Whether every candidate of a signature was measured or found wrong.
bool Known(const CandidateList& list) {
  return std::none_of(list.candidates.begin(), list.candidates.end(),
                      [](const Candidate& candidate) {
                        return candidate.refusal.empty() &&
                               candidate.evidence != Evidence::kRecord;
                      });
}

// Ops that passes make may lack a plain kernel, so nothing can be compared.
bool HasPlainKernel(const std::string& op) {
  return std::ranges::any_of(Registry::Global().Kernels(op),
                             [](const KernelDef* kernel) {
                               return kernel->key.place == PlaceKind::kCPU &&
                                      (kernel->key.library == "PLAIN" ||
                                       kernel->variant == kReferenceVariant);
                             });
}

// Whether the shape of an output is known only after a run, as for nonzero.
// Such an op cannot run alone, because its outputs cannot be allocated before.
bool HasLateOutput(const Plan& plan, int op) {
  return std::ranges::any_of(plan.ops()[op].outputs, [&](int slot) {
    return slot >= 0 && plan.slots()[slot].kind == SlotKind::kLate;
  });
}

// The ops of a plan with distinct signatures, by index in ops(), and how many
// ops share each. Ops that cannot be measured are left out, as are those that
// run blocks: they have one kernel, and it is in no registry.
std::map<int, int> DistinctOps(const Plan& plan) {
  std::map<const CandidateList*, int> first;
  std::map<int, int> ops;
  for (size_t i = 0; i < plan.decisions().size(); ++i) {
    const auto op = static_cast<int>(i);
    const bool runs_blocks = plan.decisions()[i].kernel->make == nullptr;
    if (HasLateOutput(plan, op) || runs_blocks) continue;
    ++ops[first.try_emplace(plan.decisions()[i].list.get(), op).first->second];
  }
  return ops;
}

// The share of the budget for runs of whole plans.
constexpr double kShareOfRuns = 0.2;

// The check id of the error that ends a run whose results are not needed.
constexpr const char* kEndOfTime = "tune.end_of_time";

// State that the plans of one call of Tune share.
struct Session {
  const TuneOptions& options;
  double deadline;
  bool ends_run = false;            // a run may end before the plan does
  std::set<std::string> settled{};  // signatures that need no more work
  int plan = 0;
  std::vector<Record> before{};  // what withdraws the records of this call
  TuneResult result{};
};

// Notes the records that withdraw these: the ones before them, or ones without
// a time. A kernel that was wrong stays refused.
void NoteBefore(const std::vector<Record>& records, Session* session) {
  for (const Record& record : records) {
    if (record.verdict == Verdict::kWrong) continue;
    RecordQuery query;
    query.signature = record.signature;
    query.kernel = record.kernel;
    query.kernel_version = record.kernel_version;
    query.threads = record.threads;
    query.place = record.place;
    const FoundRecord found = RecordStore::Default().Find(query);
    Record& before = session->before.emplace_back(record);
    before.best = before.median = before.low = before.high = 0;
    before.rounds = 0;
    if (found.match == RecordMatch::kExact) before = *found.record;
  }
}

// Tunes each op while a plan runs, before the op itself runs, because its
// kernel may raise.
class Tuner : public RunObserver {
 public:
  Tuner(const Plan& plan, Session* session)
      : session_(*session), wanted_(DistinctOps(plan)) {
    std::erase_if(wanted_, [&](const auto& op) {
      const CandidateList& list = *plan.decisions()[op.first].list;
      if (session_.settled.count(list.signature) > 0) return true;
      if (session_.options.again || !Known(list)) return false;
      session_.settled.insert(list.signature);
      ++session_.result.known;
      return true;
    });
    for (const auto& [op, count] : wanted_) {
      next_.insert(op);
    }
  }

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override {
    if (instruction.kernel == nullptr || session_.result.cancelled) return;
    const auto wanted = wanted_.find(instruction.context);
    if (wanted == wanted_.end()) return;
    const auto share_with = static_cast<double>(next_.size());
    next_.erase(instruction.context);
    const Decision& decision = plan.decisions()[instruction.context];
    const double left = session_.deadline - ClockSeconds();
    if (left <= 0) return EndOfTime();
    if (PredictedSeconds(decision, session_.options.again) > left) return;
    if (!GoOn(decision.list->signature)) {
      session_.result.cancelled = true;
      return;
    }
    const IsolatedOp op =
        WithFiniteInputs(Isolate(plan, instruction.context, tensors));
    SignatureTuner tuner(op, decision, plan.num_threads(), session_.deadline,
                         session_.options);
    // The signatures that this run has not reached share the remaining budget.
    // Time that one does not need goes to the others.
    const double share = left / std::max(share_with, 1.0);
    TunedSignature tuned = tuner.Run(std::min(share, kMostSeconds), share);
    tuned.ops = wanted->second;
    tuned.plan = session_.plan;
    std::vector<Record> records = RecordsOf(tuned, plan.num_threads());
    NoteBefore(records, &session_);
    RecordStore::Default().Add(std::move(records));
    if (tuned.complete) {
      wanted_.erase(wanted);
      session_.settled.insert(tuned.signature);
      ++settled_;
    }
    auto& all = session_.result.signatures;
    std::erase_if(all, [&](const TunedSignature& earlier) {
      return earlier.signature == tuned.signature;
    });
    all.push_back(std::move(tuned));
    session_.result.cancelled = CancelRequested();
  }

  int left_out() const { return static_cast<int>(wanted_.size()); }
  int settled() const { return settled_; }
  bool progress_raised() const { return progress_raised_; }

 private:
  // A signature that is not settled by then is practically a tie, if it had
  // five rounds.
  static constexpr double kMostSeconds = 0.1;

  // The rest of the run has no effect if its values are copies.
  void EndOfTime() const {
    if (!session_.ends_run) return;
    Raise(ErrorCode::kFailedPrecondition, kEndOfTime,
          "tuning has used up its budget");
  }

  // Predicted time of the reference and the comparisons. `again` ignores
  // earlier measurements, which may be wrong.
  static double PredictedSeconds(const Decision& decision, bool again) {
    constexpr double kCallsToCompare = 3;
    // In float64, in the op's dtype, and with NaNs.
    constexpr double kCallsOfReference = 4;
    double seconds = 0;
    for (const Candidate& candidate : decision.candidates()) {
      if (!candidate.refusal.empty()) continue;
      const bool plain = candidate.kernel->key.library == "PLAIN" &&
                         candidate.kernel->variant == "plain";
      seconds += (again ? candidate.estimate : candidate.seconds) *
                 (kCallsToCompare + (plain ? kCallsOfReference : 0));
    }
    return seconds;
  }

  bool GoOn(const std::string& signature) {
    if (session_.options.progress == nullptr) return true;
    const auto done = static_cast<int>(session_.result.signatures.size());
    progress_raised_ = true;
    const bool go_on =
        session_.options.progress(done, done + left_out(), signature);
    progress_raised_ = false;
    return go_on;
  }

  Session& session_;
  std::map<int, int> wanted_;  // by index in ops(): number of such ops
  std::set<int> next_;         // those of them that the run has not reached
  int settled_ = 0;
  bool progress_raised_ = false;
};

// Returns whether something was found that may lead to another plan. Raises
// what the run raises, unless a kernel of the plan is now known to be wrong.
bool RunTuner(const Plan& plan,
              const Feeds& feeds,
              Scope* scope,
              bool may_try_again,
              Session* session) {
  Tuner tuner(plan, session);
  try {
    plan.RunObserved(feeds, scope, tuner);
  } catch (const Error& error) {
    if (error.check_id() == "run.cancelled") {
      session->result.cancelled = true;
    } else if (error.check_id() == kEndOfTime) {
      // The measurements so far count.
    } else if (!may_try_again || tuner.progress_raised() ||
               tuner.settled() == 0) {
      throw;
    }
  }
  TuneResult& result = session->result;
  result.left_out = tuner.left_out();
  result.disturbed = static_cast<int>(
      std::ranges::count_if(result.signatures, &TunedSignature::disturbed));
  return tuner.settled() > 0;
}

bool SameKernels(const Plan& a, const Plan& b) {
  return std::ranges::equal(
      a.decisions(), b.decisions(), [](const Decision& x, const Decision& y) {
        return x.kernel == y.kernel && x.covers == y.covers &&
               x.list->signature == y.list->signature;
      });
}

double SecondsOfOps(const RunProfile& profile) {
  return std::accumulate(
      profile.ops.begin(), profile.ops.end(), 0.0,
      [](double sum, const MedianTime& op) { return sum + op.median; });
}

// Races the plan from before against the one from after, and withdraws what was
// measured if that one is slower. A plan with a wrong kernel is not run again.
void CompareWhole(const Plan& before,
                  const Plan& after,
                  const Feeds& feeds,
                  const Scope* scope,
                  Session* session) {
  const auto was_wrong = [](const TunedSignature& tuned) {
    return tuned.before >= 0 &&
           tuned.kernels[tuned.before].verdict == Verdict::kWrong;
  };
  if (std::ranges::any_of(session->result.signatures, was_wrong)) return;
  const double budget = session->options.budget_seconds;
  const ProfiledPlan plans[] = {{&before, &feeds, scope},
                                {&after, &feeds, scope}};
  std::vector<RunProfile> profiles = ProfileTogether(
      plans, {.budget_seconds = std::min(kShareOfRuns * budget, 1.0),
              .least_seconds = std::min(kShareOfRuns * budget, kLeastSeconds)});
  constexpr double kSlower = 1.02;
  TuneResult& result = session->result;
  result.withdrawn =
      PairedRatio(profiles[1].run, profiles[0].run).low > kSlower;
  result.run_before = {profiles[0].run, SecondsOfOps(profiles[0])};
  result.run_after = {profiles[1].run, SecondsOfOps(profiles[1])};
  if (result.withdrawn) RecordStore::Default().Add(session->before);
}

void CheckBudget(double seconds) {
  SLUICE_ENFORCE(seconds > 0, ErrorCode::kInvalidArgument, "tune.budget",
                 "tuning needs a budget of more than 0 seconds, got {}",
                 seconds);
}

}  // namespace

bool LacksRecords(const Plan& plan) {
  if (!plan.hooks().empty()) return false;  // it cannot be run alone
  for (size_t i = 0; i < plan.decisions().size(); ++i) {
    const Decision& decision = plan.decisions()[i];
    if (!Known(*decision.list) && HasPlainKernel(decision.op) &&
        !HasLateOutput(plan, static_cast<int>(i))) {
      return true;
    }
  }
  return false;
}

TuneResult Tune(const Plan& plan,
                const Feeds& feeds,
                Scope* scope,
                const TuneOptions& options) {
  CheckBudget(options.budget_seconds);
  plan.RequireAlone("tuning");
  const double begin = ClockSeconds();
  Session session{options, begin + options.budget_seconds};
  RunTuner(plan, feeds, scope, false, &session);
  session.result.seconds = ClockSeconds() - begin;
  return std::move(session.result);
}

TuneResult TunePlans(const PreparePlan& prepare,
                     const PreparePlan& prepare_apart,
                     const Feeds& feeds,
                     Scope* scope,
                     const TuneOptions& options) {
  CheckBudget(options.budget_seconds);
  const double begin = ClockSeconds();
  Session session{options, begin + (1 - kShareOfRuns) * options.budget_seconds,
                  true};
  TuneResult& result = session.result;
  const auto first = prepare();
  auto plan = first;
  // Each round measures signatures that are new: those that passes make of the
  // new choices, and those after an op whose kernel raised.
  const auto tune_all = [&] {
    for (bool more = true; more && !result.cancelled; ++session.plan) {
      plan = prepare();
      const bool in_time = ClockSeconds() < session.deadline;
      more = RunTuner(*plan, feeds, scope, in_time, &session) && in_time;
    }
  };
  tune_all();
  if (result.left_out == 0 && !result.cancelled) {
    const auto apart = prepare_apart();
    const bool found =
        apart != nullptr && RunTuner(*apart, feeds, scope, true, &session);
    result.left_out = 0;  // these are other ops
    if (found) tune_all();
  }
  if (!result.cancelled && !SameKernels(*first, *plan)) {
    CompareWhole(*first, *plan, feeds, scope, &session);
  }
  session.result.seconds = ClockSeconds() - begin;
  return std::move(session.result);
}

}  // namespace sluice
