#include "sluice/framework/inspect/plan_times.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <new>
#include <utility>

#include "sluice/framework/measure/order_statistics.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

namespace {

constexpr double kConfidence = 0.95;

MedianTime MedianOf(std::vector<double>* samples) {
  std::sort(samples->begin(), samples->end());
  const Interval interval = MedianInterval(*samples, kConfidence);
  return {SortedMedian(*samples), interval.low, interval.high};
}

// Of each column of `rows`.
std::vector<MedianTime> MediansByColumn(
    const std::vector<std::vector<double>>& rows) {
  std::vector<MedianTime> medians(rows.empty() ? 0 : rows[0].size());
  std::vector<double> column(rows.size());
  for (size_t i = 0; i < medians.size(); ++i) {
    for (size_t row = 0; row < rows.size(); ++row) {
      column[row] = rows[row][i];
    }
    medians[i] = MedianOf(&column);
  }
  return medians;
}

// What a run writes replaces tensors of `values` only; memory is shared.
void CopyPersistables(const Plan& plan, const Scope* scope, Scope* values) {
  if (scope == nullptr) return;
  for (const Slot& slot : plan.slots()) {
    if (slot.kind != SlotKind::kPersistable && slot.kind != SlotKind::kShadow) {
      continue;
    }
    const Variable* variable = scope->FindVar(slot.var);
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor != nullptr) {
      *values->Var(slot.var).GetMutable<Tensor>() = *tensor;
    }
  }
}

// So many runs that what is kept of them stays below some 100 MB.
int MostRounds(const Plan& plan) {
  constexpr size_t kMostSamples = 4'000'000;
  constexpr size_t kFewest = 5;
  constexpr size_t kMost = 201;
  const size_t instructions = std::max<size_t>(plan.instructions().size(), 1);
  return static_cast<int>(
      std::clamp(kMostSamples / instructions, kFewest, kMost));
}

// One plan in the race, with parameters of its own.
class TimedPlan {
 public:
  TimedPlan(const Plan& plan, const Feeds& feeds, const Scope* scope)
      : plan_(plan), feeds_(feeds), most_(MostRounds(plan)) {
    CopyPersistables(plan, scope, &values_);
  }

  int most_rounds() const { return most_; }
  void Run() { plan_.Run(feeds_, &values_); }
  void RunWithClock() {
    RunProfile one = RunProfiled(plan_, feeds_, &values_).profile;
    if (profiles_.size() < static_cast<size_t>(most_)) {
      profiles_.push_back(std::move(one));
    }
  }
  // For the errors of a run, which a race would keep.
  void WarmUp() {
    Run();
    RunWithClock();
    profiles_.clear();
  }

  PlanTimes Evaluate(Timing run, Timing profiled) {
    if (profiles_.empty()) RunWithClock();
    std::sort(profiles_.begin(), profiles_.end(),
              [](const RunProfile& a, const RunProfile& b) {
                return a.total_seconds < b.total_seconds;
              });
    std::vector<std::vector<double>> by_op;
    std::vector<std::vector<double>> by_instruction;
    for (const RunProfile& profile : profiles_) {
      by_op.push_back(profile.SecondsByOp(plan_));
      by_instruction.push_back(profile.seconds);
    }
    PlanTimes times;
    times.run = std::move(run);
    times.profiled = std::move(profiled);
    times.ops = MediansByColumn(by_op);
    times.instructions = MediansByColumn(by_instruction);
    times.profiled_runs = static_cast<int>(profiles_.size());
    times.typical = std::move(profiles_[(profiles_.size() - 1) / 2]);
    return times;
  }

 private:
  const Plan& plan_;
  const Feeds& feeds_;
  int most_;
  Scope values_;
  std::vector<RunProfile> profiles_;
};

RaceResult RaceOf(std::deque<TimedPlan>* timed, double budget_seconds) {
  std::vector<Contestant> contestants;
  RaceOptions options;
  options.budget_seconds = budget_seconds;
  options.cancelled = [] { return CancelRequested(); };
  for (TimedPlan& one : *timed) {
    options.max_rounds = std::min(options.max_rounds, one.most_rounds());
    contestants.push_back({"run", [&one] { one.Run(); }});
    contestants.push_back({"profiled run", [&one] { one.RunWithClock(); }});
  }
  RaceResult race = Race(contestants, options);
  SLUICE_ENFORCE(!race.cancelled, ErrorCode::kFailedPrecondition,
                 "plan_times.cancelled", "timing the plan was interrupted");
  return race;
}

}  // namespace

std::vector<PlanTimes> TimePlans(std::span<const Plan* const> plans,
                                 const Feeds& feeds,
                                 const Scope* scope,
                                 double budget_seconds) try {
  SLUICE_ENFORCE(budget_seconds > 0 && std::isfinite(budget_seconds),
                 ErrorCode::kInvalidArgument, "plan_times.budget",
                 "timing a plan needs a budget of more than 0 seconds, got {}",
                 budget_seconds);
  SLUICE_ENFORCE(!plans.empty(), ErrorCode::kInvalidArgument,
                 "plan_times.plans",
                 "timing needs at least one plan, got none");
  std::deque<TimedPlan> timed;
  for (const Plan* plan : plans) {
    timed.emplace_back(*plan, feeds, scope).WarmUp();
  }
  RaceResult race = RaceOf(&timed, budget_seconds);
  std::vector<PlanTimes> times;
  for (size_t i = 0; i < timed.size(); ++i) {
    times.push_back(timed[i].Evaluate(std::move(race.timings[2 * i]),
                                      std::move(race.timings[2 * i + 1])));
    times.back().drifted = race.drifted;
  }
  return times;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
