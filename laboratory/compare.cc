#include "sluice/laboratory/compare.h"

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/laboratory/bisect/golden_values.h"
#include "sluice/laboratory/bisect/plan_slice.h"
#include "sluice/laboratory/bisect/plan_units.h"
#include "sluice/laboratory/bisect/slice_trial.h"
#include "sluice/laboratory/bisect/unit_text.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

Fetches UnreadVars(const Program& program) {
  std::set<std::string> read;
  for (const OpDesc& op : program.block().ops) {
    for (const auto& [argument, vars] : op.inputs) {
      read.insert(vars.begin(), vars.end());
    }
  }
  Fetches fetches;
  for (const OpDesc& op : program.block().ops) {
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        const bool keeps = program.FindVar(var).persistable;
        if (!keeps && read.insert(var).second) fetches.emplace_back(var);
      }
    }
  }
  return fetches;
}

double SecondsOf(const Plan& plan,
                 const std::vector<int>& ops,
                 const RunProfile& profile) {
  double seconds = 0;
  for (const int op : ops) {
    seconds += profile.ops[plan.ops()[op].op_index].median;
  }
  return seconds;
}

// "conv2d+relu"; of more than three calls "conv2d, relu, pool2d and 12 more".
std::string NameOf(const std::vector<PlanCall>& calls,
                   const std::vector<int>& ops,
                   const std::vector<std::string>& covered) {
  if (covered.empty()) return calls[ops[0]].name;
  if (ops.size() < 4) return CallName(covered);
  std::vector<std::string> names;
  for (const int op : ops) {
    if (!calls[op].put_in) names.push_back(calls[op].name);
  }
  return Listed(names);
}

// The calls of a unit, numbered and named as Explain does.
OpComparison Describe(const PlanPair& pair,
                      const PlanUnit& unit,
                      const std::vector<PlanCall>& calls_a,
                      const std::vector<PlanCall>& calls_b) {
  OpComparison result;
  const bool in_a = !unit.a.empty();
  const std::vector<PlanCall>& calls = in_a ? calls_a : calls_b;
  const std::vector<int>& ops = in_a ? unit.a : unit.b;
  std::vector<std::string> covered;
  result.op_index = calls[ops[0]].number;
  for (const int op : ops) {
    const Decision& decision = *calls[op].decision;
    covered.insert(covered.end(), decision.covered_ops.begin(),
                   decision.covered_ops.end());
    if (!calls[op].put_in) {
      result.op_index = std::min(result.op_index, calls[op].number);
    }
  }
  result.op = NameOf(calls, ops, covered);
  UnitText text = TextOf(pair, unit.a, unit.b);
  result.kernel_a = std::move(text.kernels_a);
  result.kernel_b = std::move(text.kernels_b);
  const auto inserted = [](const Plan& of) {
    return [&of](int op) { return of.decisions()[op].covers.empty(); };
  };
  result.inserted = std::ranges::all_of(unit.a, inserted(pair.a())) &&
                    std::ranges::all_of(unit.b, inserted(pair.b()));
  result.same = unit.same;
  return result;
}

// Only the first unit whose results differ is reported.
void CompareResults(const PlanPair& pair,
                    const GoldenValues& golden,
                    size_t unit,
                    const ValueTolerance& tolerance,
                    OpComparison* result) {
  if (pair.units()[unit].same) return;
  PlanSlice slice(pair, PlanSlice::Side::kB, unit, unit + 1, golden);
  if (slice.empty()) return;
  const SliceTrial trial = TrySlice(pair, golden, slice, tolerance);
  result->differs = trial.differs;
  result->max_absolute_error = trial.max_absolute;
  result->max_relative_error = trial.max_relative;
  result->message = trial.message;
}

// Adds why the plan does not take kernels that records call wrong.
void AddKnownWrong(const Plan& plan, std::vector<std::string>* known_wrong) {
  for (const Decision& decision : plan.decisions()) {
    for (const HintAnswer& answer : decision.answers) {
      if (!answer.known_wrong) continue;
      std::string why = Format("#{} {}", decision.op_index, answer.why_not);
      // A hint of the program is in both plans.
      if (std::ranges::find(*known_wrong, why) == known_wrong->end()) {
        known_wrong->push_back(std::move(why));
      }
    }
  }
}

}  // namespace

std::string_view HintsOfSet(std::string_view text) {
  if (text == "default") return "";
  if (text == "reference") {
    return "prefer library=PLAIN, variant=plain; prefer library=PLAIN";
  }
  return text;
}

Comparison Compare(const Program& program,
                   const Feeds& feeds,
                   std::string_view hints_a,
                   std::string_view hints_b,
                   const CompareOptions& options,
                   const Scope* scope) try {
  const Fetches fetches =
      options.fetches.empty() ? UnreadVars(program) : options.fetches;
  const auto a =
      PrepareWith(program, feeds, fetches, HintsOfSet(hints_a), options.place);
  const auto b =
      PrepareWith(program, feeds, fetches, HintsOfSet(hints_b), options.place);
  const PlanPair pair(program, *a, *b);
  const GoldenValues golden(pair, feeds, scope);
  const ValueTolerance tolerance{options.relative_tolerance,
                                 options.absolute_tolerance};
  Comparison comparison;
  comparison.hints_a = hints_a;
  comparison.hints_b = hints_b;
  comparison.places_a = PlacesText(*a);
  comparison.places_b = PlacesText(*b);
  for (const Plan* plan : {a.get(), b.get()}) {
    AddKnownWrong(*plan, &comparison.known_wrong);
  }
  bool raises = false;
  const std::vector<PlanCall> calls_a = CallsOf(*a), calls_b = CallsOf(*b);
  for (size_t unit = 0; unit < pair.units().size(); ++unit) {
    OpComparison result = Describe(pair, pair.units()[unit], calls_a, calls_b);
    CompareResults(pair, golden, unit, tolerance, &result);
    if (result.differs && comparison.first_difference < 0) {
      comparison.first_difference = static_cast<int>(unit);
    }
    raises |= result.differs && result.message.starts_with("raised");
    comparison.ops.push_back(std::move(result));
  }
  if (raises) return comparison;  // plan B cannot run
  const ProfiledPlan plans[] = {{a.get(), &feeds, scope},
                                {b.get(), &feeds, scope}};
  std::vector<RunProfile> profiles =
      ProfileTogether(plans, {.budget_seconds = options.budget_seconds});
  for (size_t unit = 0; unit < pair.units().size(); ++unit) {
    OpComparison& result = comparison.ops[unit];
    result.seconds_a = SecondsOf(*a, pair.units()[unit].a, profiles[0]);
    result.seconds_b = SecondsOf(*b, pair.units()[unit].b, profiles[1]);
  }
  comparison.b_over_a = PairedRatio(profiles[1].run, profiles[0].run);
  comparison.run_a = std::move(profiles[0].run);
  comparison.run_b = std::move(profiles[1].run);
  return comparison;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
