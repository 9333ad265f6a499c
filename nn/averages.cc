#include "sluice/nn/averages.h"

#include <cmath>
#include <functional>
#include <map>

#include "sluice/framework/values/scope_lock.h"
#include "sluice/nn/check.h"
#include "sluice/nn/op_writer.h"
#include "sluice/nn/startup.h"

namespace sluice::nn {

AppliedAverage::AppliedAverage(Scope* scope, Feeds averages)
    : scope_(scope), others_(std::move(averages)) {
  const ScopeLock lock(scope_, ScopeAccess::kWrite);
  for (auto& [param, value] : others_) {
    std::swap(value, *scope_->FindVar(param)->GetMutable<Tensor>());
  }
}

void AppliedAverage::Restore() {
  const ScopeLock lock(scope_, ScopeAccess::kWrite);
  for (auto& [param, value] : others_) {
    Variable* const var = scope_->FindVar(param);
    if (var != nullptr) *var->GetMutable<Tensor>() = std::move(value);
  }
  others_.clear();
}

AppliedAverage ParameterAverage::Apply(Executor& executor, Scope* scope) const {
  Scope* const values = scope == nullptr ? &executor.scope() : scope;
  Fetches fetches = {weight_};
  for (const auto& [param, average] : averages_) {
    fetches.emplace_back(average);
  }
  std::vector<Tensor> made = executor.Run(program_, {}, fetches, values);
  SLUICE_ENFORCE(made[0].data<double>()[0] > 0, ErrorCode::kFailedPrecondition,
                 "nn.average_steps",
                 "{}: no step was averaged yet; run the training first", name_);
  Feeds averages;
  for (size_t i = 0; i < averages_.size(); ++i) {
    const std::string& param = averages_[i].first;
    SLUICE_ENFORCE(values->FindVar(param) != nullptr,
                   ErrorCode::kFailedPrecondition, "nn.average_scope",
                   "{}: parameter {} is not in the scope", name_, param);
    averages.emplace_back(param, std::move(made[i + 1]));
  }
  return {values, std::move(averages)};
}

// Appends to a program what an average keeps of each parameter.
class AverageBuilder {
 public:
  // A sum over steps, and the weight of all of them: one element.
  using Weighted = std::pair<Var, Var>;

  AverageBuilder(const char* kind,
                 Program& program,
                 const std::string& name,
                 const SourceLocation& location)
      : helper_(kind, program, name, location),
        ops_(program, location),
        purpose_(program, OpPurpose::kOptimize) {
    for (const VarDesc& var : program.block().vars()) {
      if (var.persistable && IsFloating(var.dtype) && !var.stop_gradient) {
        parameters_.push_back(program.Find(var.name));
      }
    }
    Require(!parameters_.empty(), location, ErrorCode::kInvalidArgument,
            "nn.average_parameters",
            "{}: the program has no parameters; call this after its layers",
            kind);
  }

  const OpWriter& ops() const { return ops_; }
  const std::vector<Var>& parameters() const { return parameters_; }
  Var State(const std::string& key,
            DType dtype,
            const DDim& dims,
            double value = 0) {
    return helper_.State(Format("{}.{}", key, helper_.name()), dims, dtype,
                         Constant(value));
  }
  Var StateOf(const Var& param, const char* suffix = "") {
    return State(param.name() + suffix, param.dtype(), param.dims());
  }

  // `states` are those of each parameter, of which `weighted` computes.
  ParameterAverage Finish(
      const std::vector<std::vector<Var>>& states,
      const std::function<Weighted(const OpWriter&, const std::vector<Var>&)>&
          weighted) const {
    ParameterAverage made;
    made.name_ = helper_.name();
    Program& program = made.program_;
    const OpWriter ops(program, helper_.location());
    for (size_t i = 0; i < states.size(); ++i) {
      std::vector<Var> here;
      for (const Var& state : states[i]) {
        const std::string& name = state.name();
        here.push_back(
            program.HasVar(name)
                ? program.Find(name)
                : program.Persistable(name, state.dtype(), state.dims()));
      }
      const auto [sum, weight] = weighted(ops, here);
      const Var average =
          ops.Binary("elementwise_div", sum, ops.Scalar(weight));
      made.averages_.emplace_back(parameters_[i].name(), average.name());
      if (i == 0) made.weight_ = ops.Cast(weight, DType::kFloat64).name();
    }
    return made;
  }

 private:
  LayerHelper helper_;
  OpWriter ops_;
  PurposeGuard purpose_;
  std::vector<Var> parameters_;
};

ParameterAverage ExponentialMovingAverage(
    Program& program,
    const ExponentialMovingAverageOptions& options,
    const SourceLocation& location) {
  Require(options.decay >= 0 && options.decay < 1, location,
          ErrorCode::kInvalidArgument, "nn.ema_decay",
          "ema: decay must be at least 0 and below 1, got {}", options.decay);
  AverageBuilder build("ema", program, options.name, location);
  const OpWriter& ops = build.ops();
  // The decay is `number`, or a variable if that depends on the step.
  const auto times = [&](const Var& x, const Var& factor, double number) {
    return factor.valid() ? ops.Binary("elementwise_mul", x, factor)
                          : ops.Scale(x, number);
  };
  const auto decay_of = [&](DType dtype) {
    if (!options.steps.valid()) return Var();
    const Var steps = ops.Cast(options.steps, dtype);
    const Var above = ops.Scale(steps, 1, 1);
    const Var most =
        ops.Binary("elementwise_div", above, ops.Scale(steps, 1, 10));
    const Var decay = ops.Fill(options.decay, dtype, {1});
    return ops.Scalar(ops.Binary("elementwise_min", most, decay));
  };
  // By dtype: the decay, and the product of the decays of all steps.
  std::map<DType, std::pair<Var, Var>> rest;
  std::vector<std::vector<Var>> states;
  for (const Var& param : build.parameters()) {
    const DType dtype = param.dtype();
    auto& [decay, left] = rest[dtype];
    if (!left.valid()) {
      decay = decay_of(dtype);
      left = build.State(Format("left.{}", dtype), dtype, {1}, 1);
      ops.Assign(times(left, decay, options.decay), left);
    }
    const Var average = build.StateOf(param);
    const Var kept = times(average, decay, options.decay);
    const Var share = decay.valid() ? ops.Scale(decay, -1, 1) : Var();
    const Var added = times(param, share, 1 - options.decay);
    ops.Assign(ops.Binary("elementwise_add", kept, added), average);
    states.push_back({average, left});
  }
  return build.Finish(states, [](const OpWriter& at, const auto& kept) {
    return AverageBuilder::Weighted(kept[0], at.Scale(kept[1], -1, 1));
  });
}

ParameterAverage ModelAverage(Program& program,
                              const ModelAverageOptions& options,
                              const SourceLocation& location) {
  const double rate = options.average_window_rate;
  Require(std::isfinite(rate) && rate >= 0, location,
          ErrorCode::kInvalidArgument, "nn.average_window_rate",
          "model_average: average_window_rate must be finite and at least 0, "
          "got {}",
          rate);
  Require(options.min_average_window > 0 && options.max_average_window > 0,
          location, ErrorCode::kInvalidArgument, "nn.average_window",
          "model_average: min_average_window and max_average_window must be "
          "above 0, got {} and {}",
          options.min_average_window, options.max_average_window);
  AverageBuilder build("model_average", program, options.name, location);
  const OpWriter& ops = build.ops();
  const auto number = [&](int64_t value) {
    return ops.Fill(static_cast<double>(value), DType::kInt64, {1});
  };
  const Var updates = build.State("updates", DType::kInt64, {1});
  const Var count = build.State("count", DType::kInt64, {1});
  const Var old_count = build.State("old_count", DType::kInt64, {1});
  for (const Var& counter : {updates, count}) {
    ops.Assign(ops.Scale(counter, 1, 1), counter);
  }
  Var window = ops.Scale(ops.Cast(updates, DType::kFloat64), rate);
  window = ops.Cast(window, DType::kInt64);
  window =
      ops.Binary("elementwise_min", window, number(options.max_average_window));
  const Var enough =
      ops.Binary("greater_equal", count, number(options.min_average_window));
  const Var whole = ops.Binary("greater_equal", count, window);
  const Var ends = ops.Binary("logical_and", enough, whole);
  std::vector<std::vector<Var>> states;
  for (const Var& param : build.parameters()) {
    const Var sum = build.StateOf(param, ".sum");
    const Var old_sum = build.StateOf(param, ".old_sum");
    const Var grown = ops.Binary("elementwise_add", sum, param);
    ops.Where(ops.Scalar(ends), grown, old_sum, old_sum);
    const Var ended = ops.Scalar(ends);
    ops.Where(ended, ops.Fill(0, param.dtype(), {}), grown, sum);
    states.push_back({sum, old_sum, count, old_count});
  }
  ops.Where(ends, count, old_count, old_count);
  ops.Where(ends, number(0), count, count);
  return build.Finish(states, [](const OpWriter& at, const auto& kept) {
    const Var sum = at.Binary("elementwise_add", kept[0], kept[1]);
    const Var steps = at.Binary("elementwise_add", kept[2], kept[3]);
    return AverageBuilder::Weighted(sum, at.Cast(steps, sum.dtype()));
  });
}

}  // namespace sluice::nn
