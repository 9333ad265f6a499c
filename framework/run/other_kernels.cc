#include "sluice/framework/run/other_kernels.h"

#include <algorithm>
#include <cmath>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Preparing takes as long as it took the first time.
constexpr size_t kTrials = 3;
constexpr size_t kManyOps = 1000;
constexpr size_t kTooManyOps = 5000;

double SecondsOf(const std::vector<PlanCall>& calls) {
  double seconds = 0;
  for (const PlanCall& call : calls) {
    seconds += call.seconds();
  }
  return seconds;
}

std::shared_ptr<const Plan> PrepareByNewRecords(const Program& program,
                                                const Plan& plan) {
  return PlanBuilder(program, plan.feed_specs(), plan.fetch_names(),
                     plan.place(), plan.options())
      .Build();
}

// Returns the seconds of the plan with the hint; below 0 if the call then has
// another kernel than the one that the hint names.
double TryHint(const Program& program,
               const Plan& plan,
               const PlanCall& call,
               const std::string& hint) try {
  const KernelHintGuard guard(hint);
  const auto other = PrepareByNewRecords(program, plan);
  const auto calls = CallsOf(*other);
  const bool obeyed =
      std::any_of(calls.begin(), calls.end(), [&](const PlanCall& each) {
        return each.number == call.number && each.name == call.name &&
               each.chosen->kernel == call.next->kernel;
      });
  return obeyed ? SecondsOf(calls) : -1;
} catch (const Error&) {
  return -1;
}

}  // namespace

std::vector<std::string> OtherKernels(const Program& program,
                                      const Plan& plan,
                                      std::string_view hint_form) {
  // Hooks may be about more than this process: ranks prepare plans together.
  if (!plan.hooks().empty()) return {};
  const auto calls = CallsOf(plan);
  if (calls.size() > kTooManyOps) return {};
  std::vector<const PlanCall*> slowest;
  for (const PlanCall& call : calls) {
    if (call.next != nullptr && !call.put_in) slowest.push_back(&call);
  }
  std::stable_sort(slowest.begin(), slowest.end(), [](auto* a, auto* b) {
    return a->seconds() > b->seconds();
  });
  const size_t trials = calls.size() > kManyOps ? 1 : kTrials;
  if (slowest.size() > trials) slowest.resize(trials);
  for (const PlanCall* call : slowest) {
    const std::string hint = HintFor(*call, *call->next);
    const double seconds = TryHint(program, plan, *call, hint);
    if (seconds < 0) continue;
    const double now = SecondsOf(CallsOf(*PrepareByNewRecords(program, plan)));
    const double more = seconds - now;
    std::string form(hint_form);
    const size_t at = form.find("{}");
    if (at != std::string::npos) form.replace(at, 2, hint);
    return {"to force another kernel, and what the whole run then takes:",
            Format("  {} {} {}", form, ShortTime(std::abs(more), true),
                   more < 0 ? "less" : "more")};
  }
  return {};
}

}  // namespace sluice
