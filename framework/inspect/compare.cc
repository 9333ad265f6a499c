#include "sluice/framework/inspect/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <new>

#include "sluice/framework/inspect/profile.h"
#include "sluice/framework/inspect/tensor_values.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::Format;

namespace {

using Values = std::map<std::string, Tensor>;

// The single-op program that runs what `decision` chose, on `values`.
struct SingleOp {
  Program program;
  Feeds feeds;
  Fetches fetches;
};

SingleOp MakeSingleOp(const OpDesc& op,
                      const Decision& decision,
                      const Values& values) {
  SingleOp single;
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      const bool known =
          std::any_of(single.feeds.begin(), single.feeds.end(),
                      [&](auto& feed) { return feed.first == var; });
      if (known) continue;
      const auto value = values.find(var);
      if (value == values.end()) {
        platform::Raise(platform::ErrorCode::kFailedPrecondition,
                        "compare.uninitialised",
                        "{}: persistable variable {} has no value: give "
                        "Compare a scope that holds it",
                        op.type, var);
      }
      const Tensor& tensor = value->second;
      single.program.Data(var, tensor.dtype(), tensor.dims());
      single.feeds.emplace_back(var, tensor);
    }
  }
  OpDesc copy = op;
  for (auto& [argument, vars] : copy.outputs) {
    for (std::string& var : vars) {
      // An in-place update would write what is fed.
      var.insert(0, "out.");
      single.fetches.emplace_back(var);
    }
  }
  copy.hint = Format("require place={}, library={}, variant={}", decision.place,
                     decision.kernel->key.library, decision.kernel->variant);
  single.program.AppendOp(std::move(copy));
  return single;
}

struct TimedRun {
  std::vector<Tensor> results;
  double seconds = 0;
};

TimedRun RunSingle(const SingleOp& single, PlaceKey place) {
  constexpr int kRuns = 3;
  // Passes off: both runs have the same ops.
  Executor executor(place, {.passes = false});
  const auto plan =
      executor.Prepare(single.program, single.feeds, single.fetches);
  TimedRun timed;
  std::vector<double> seconds;
  for (int run = 0; run < kRuns; ++run) {
    ProfiledRun profiled = RunProfiled(*plan, single.feeds);
    seconds.push_back(profiled.profile.OpSeconds(*plan, 0));
    timed.results = std::move(profiled.results);
  }
  std::sort(seconds.begin(), seconds.end());
  timed.seconds = seconds[kRuns / 2];
  return timed;
}

void CompareOutputs(const Tensor& a,
                    const Tensor& b,
                    const CompareOptions& options,
                    OpComparison* result) {
  if (a.dtype() != b.dtype() || !(a.dims() == b.dims())) {
    result->differs = true;
    return;
  }
  const std::vector<double> left = ToDoubles(a);
  const std::vector<double> right = ToDoubles(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) {
      continue;
    }
    const double error = std::abs(left[i] - right[i]);
    const double scale = std::max(std::abs(left[i]), std::abs(right[i]));
    // Written so that a NaN or an infinity on one side differs.
    if (!(error <=
          options.absolute_tolerance + options.relative_tolerance * scale) ||
        std::isinf(scale)) {
      result->differs = true;
    }
    result->max_absolute_error = std::max(result->max_absolute_error, error);
    result->max_relative_error =
        std::max(result->max_relative_error, error / scale);
  }
}

std::shared_ptr<const Plan> PrepareWith(const Program& program,
                                        const Feeds& feeds,
                                        std::string_view hints,
                                        PlaceKey place) {
  // Fetching every op's outputs makes every op run.
  Fetches fetches;
  for (const OpDesc& op : program.block().ops) {
    for (const auto& [argument, vars] : op.outputs) {
      fetches.insert(fetches.end(), vars.begin(), vars.end());
    }
  }
  const KernelHintGuard guard(hints);
  // Passes off: both runs have the same ops.
  Executor executor(place, {.passes = false});
  return executor.Prepare(program, feeds, fetches);
}

void AddPersistables(const Program& program,
                     const Scope* scope,
                     Values* values) {
  if (scope == nullptr) return;
  for (const VarDesc& var : program.block().vars()) {
    if (!var.persistable) continue;
    const Variable* variable = scope->FindVar(var.name);
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor != nullptr && tensor->allocated()) {
      (*values)[var.name] = *tensor;
    }
  }
}

std::string KernelText(const Decision& decision) {
  return Format("{} {} at {}", decision.kernel->key.library,
                decision.kernel->variant, decision.place);
}

}  // namespace

Comparison Compare(const Program& program,
                   const Feeds& feeds,
                   std::string_view hints_a,
                   std::string_view hints_b,
                   const CompareOptions& options,
                   const Scope* scope) try {
  const auto plan_a = PrepareWith(program, feeds, hints_a, options.place);
  const auto plan_b = PrepareWith(program, feeds, hints_b, options.place);
  Values values(feeds.begin(), feeds.end());
  AddPersistables(program, scope, &values);
  Comparison comparison;
  for (size_t i = 0; i < plan_a->decisions().size(); ++i) {
    const Decision& a = plan_a->decisions()[i];
    const Decision& b = plan_b->decisions()[i];
    const OpDesc& op = program.block().ops[a.op_index];
    OpComparison result;
    result.op_index = a.op_index;
    result.op = op.type;
    result.kernel_a = KernelText(a);
    result.kernel_b = KernelText(b);
    const TimedRun run_a =
        RunSingle(MakeSingleOp(op, a, values), options.place);
    const TimedRun run_b =
        RunSingle(MakeSingleOp(op, b, values), options.place);
    result.seconds_a = run_a.seconds;
    result.seconds_b = run_b.seconds;
    size_t output = 0;
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        CompareOutputs(run_a.results[output], run_b.results[output], options,
                       &result);
        values[var] = run_a.results[output++];
      }
    }
    if (result.differs && comparison.first_difference < 0) {
      comparison.first_difference = static_cast<int>(i);
    }
    comparison.ops.push_back(std::move(result));
  }
  return comparison;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

std::string ToString(const Comparison& comparison) try {
  std::string text =
      Format("{:<28} {:<28} {:<28} {:>11} {:>11} {:>10} {:>10}\n", "op", "a",
             "b", "time a", "time b", "abs error", "rel error");
  for (const OpComparison& op : comparison.ops) {
    text += Format(
        "{:<28} {:<28} {:<28} {:>8.1f} us {:>8.1f} us {:>10.2e} "
        "{:>10.2e}{}\n",
        Format("{} {}", op.op_index, op.op), op.kernel_a, op.kernel_b,
        op.seconds_a * 1e6, op.seconds_b * 1e6, op.max_absolute_error,
        op.max_relative_error, op.differs ? "  differs" : "");
  }
  if (comparison.first_difference < 0) return text + "no op differs\n";
  const OpComparison& first = comparison.ops[comparison.first_difference];
  return text + Format("the first op that differs is {} ({}): {} against {}\n",
                       first.op_index, first.op, first.kernel_a,
                       first.kernel_b);
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
