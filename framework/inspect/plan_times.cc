#include "sluice/framework/inspect/plan_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <numeric>
#include <utility>

#include "sluice/framework/measure/order_statistics.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::ErrorCode;

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

void Evaluate(const Plan& plan,
              std::vector<RunProfile>* profiles,
              PlanTimes* times) {
  std::sort(profiles->begin(), profiles->end(),
            [](const RunProfile& a, const RunProfile& b) {
              return a.total_seconds < b.total_seconds;
            });
  std::vector<std::vector<double>> by_op;
  std::vector<std::vector<double>> by_instruction;
  for (const RunProfile& profile : *profiles) {
    by_op.push_back(profile.SecondsByOp(plan));
    by_instruction.push_back(profile.seconds);
  }
  times->ops = MediansByColumn(by_op);
  times->instructions = MediansByColumn(by_instruction);
  times->profiled_runs = static_cast<int>(profiles->size());
  times->typical = std::move((*profiles)[(profiles->size() - 1) / 2]);
}

}  // namespace

PlanTimes TimePlan(const Plan& plan,
                   const Feeds& feeds,
                   const Scope* scope,
                   double budget_seconds) try {
  SLUICE_ENFORCE(budget_seconds > 0 && std::isfinite(budget_seconds),
                 ErrorCode::kInvalidArgument, "plan_times.budget",
                 "timing a plan needs a budget of more than 0 seconds, got {}",
                 budget_seconds);
  Scope values;
  CopyPersistables(plan, scope, &values);
  plan.Run(feeds, &values);  // for its errors, which a race would keep
  const size_t most = static_cast<size_t>(MostRounds(plan));
  std::vector<RunProfile> profiles;
  const auto profile = [&] {
    RunProfile one = RunProfiled(plan, feeds, &values).profile;
    if (profiles.size() < most) profiles.push_back(std::move(one));
  };
  profile();
  profiles.clear();
  const std::array<Contestant, 2> contestants = {
      Contestant{"run", [&] { plan.Run(feeds, &values); }},
      Contestant{"profiled run", profile}};
  RaceOptions options;
  options.budget_seconds = budget_seconds;
  options.max_rounds = static_cast<int>(most);
  options.cancelled = [] { return CancelRequested(); };
  RaceResult race = Race(contestants, options);
  SLUICE_ENFORCE(!race.cancelled, ErrorCode::kFailedPrecondition,
                 "plan_times.cancelled", "timing the plan was interrupted");
  if (profiles.empty()) profile();
  PlanTimes times;
  times.run = std::move(race.timings[0]);
  times.profiled = std::move(race.timings[1]);
  times.drifted = race.drifted;
  Evaluate(plan, &profiles, &times);
  return times;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
