#include "sluice/nn/averages.h"

#include <cmath>
#include <functional>

#include "sluice/framework/program/control_flow.h"
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
class AverageBuilder : public OpWriter {
 public:
  AverageBuilder(const char* kind,
                 Program& program,
                 const std::string& name,
                 const SourceLocation& location)
      : OpWriter(program, location),
        helper_(kind, program, name, location),
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

  const Vars& parameters() const { return parameters_; }
  // A state of the shape of a parameter, in float64, in which long sums and
  // factors near 1 keep the parameter's digits.
  Var State(const std::string& key, const Var& like) {
    return State(key, DType::kFloat64, like.dims(), 0);
  }
  Var State(const std::string& key, DType dtype, const DDim& dims, double x) {
    return helper_.State(Format("{}.{}", key, helper_.name()), dims, dtype,
                         Constant(x));
  }

  // `sum_and_weight` computes, from the states of a parameter, a sum over the
  // steps and the weight of all of them.
  ParameterAverage Finish(
      const std::vector<Vars>& states,
      const std::function<std::pair<Var, Var>(const OpWriter&, const Vars&)>&
          sum_and_weight) const {
    ParameterAverage made;
    made.name_ = helper_.name();
    const OpWriter apply(made.program_, helper_.location());
    for (size_t i = 0; i < states.size(); ++i) {
      Vars here;
      for (const Var& state : states[i]) {
        const std::string& name = state.name();
        here.push_back(
            made.program_.HasVar(name)
                ? made.program_.Find(name)
                : made.program_.Persistable(name, state.dtype(), state.dims()));
      }
      const auto [sum, weight] = sum_and_weight(apply, here);
      const Var average =
          apply.Cast(apply.Binary("elementwise_div", sum, apply.Scalar(weight)),
                     parameters_[i].dtype());
      made.averages_.emplace_back(parameters_[i].name(), average.name());
      if (i == 0) made.weight_ = weight.name();
    }
    return made;
  }

 private:
  LayerHelper helper_;
  PurposeGuard purpose_;
  Vars parameters_;
};

ParameterAverage ExponentialMovingAverage(
    Program& program,
    const ExponentialMovingAverageOptions& options,
    const SourceLocation& location) {
  Require(options.decay >= 0 && options.decay < 1, location,
          ErrorCode::kInvalidArgument, "nn.ema_decay",
          "ema: decay must be at least 0 and below 1, got {}", options.decay);
  AverageBuilder ops("ema", program, options.name, location);
  Var decay = ops.Fill(options.decay, DType::kFloat64, {});
  if (options.steps.valid()) {
    const Var steps = ops.Scalar(ops.Cast(options.steps, DType::kFloat64));
    const Var above = ops.Scale(steps, 1, 1);
    const Var below = ops.Scale(steps, 1, 10);
    decay = ops.Binary("elementwise_min", decay,
                       ops.Binary("elementwise_div", above, below));
  }
  const Var share = ops.Scale(decay, -1, 1);
  // The product of all decays.
  const Var left = ops.State("left", DType::kFloat64, {1}, 1);
  ops.Assign(ops.Binary("elementwise_mul", left, decay), left);
  std::vector<Vars> states;
  for (const Var& param : ops.parameters()) {
    const Var average = ops.State(param.name(), param);
    const Var kept = ops.Binary("elementwise_mul", average, decay);
    const Var added =
        ops.Binary("elementwise_mul", ops.Cast(param, DType::kFloat64), share);
    ops.Assign(ops.Binary("elementwise_add", kept, added), average);
    states.push_back({average, left});
  }
  return ops.Finish(states, [](const OpWriter& apply, const Vars& kept) {
    return std::pair(kept[0], apply.Scale(kept[1], -1, 1));
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
  AverageBuilder ops("model_average", program, options.name, location);
  const auto number = [&](int64_t value) {
    return ops.Fill(static_cast<double>(value), DType::kInt64, {});
  };
  const Var updates = ops.State("updates", DType::kInt64, {1}, 0);
  const Var count = ops.State("count", DType::kInt64, {1}, 0);
  const Var old_count = ops.State("old_count", DType::kInt64, {1}, 0);
  for (const Var& counter : {updates, count}) {
    ops.Assign(ops.Scale(counter, 1, 1), counter);
  }
  const Var part = ops.Scale(ops.Cast(updates, DType::kFloat64), rate);
  Var window = ops.Binary("elementwise_min", ops.Cast(part, DType::kInt64),
                          number(options.max_average_window));
  window =
      ops.Binary("elementwise_max", window, number(options.min_average_window));
  const Var ends = ops.Binary("greater_equal", count, window);
  const Var scalar_ends = ops.Scalar(ends);
  std::vector<Vars> states;
  for (const Var& param : ops.parameters()) {
    const Var sum = ops.State(param.name() + ".sum", param);
    const Var old_sum = ops.State(param.name() + ".old_sum", param);
    const Var grown =
        ops.Binary("elementwise_add", sum, ops.Cast(param, DType::kFloat64));
    ops.Where(scalar_ends, grown, old_sum, old_sum);
    ops.Where(scalar_ends, ops.Fill(0, DType::kFloat64, {}), grown, sum);
    states.push_back({sum, old_sum, count, old_count});
  }
  ops.Where(ends, count, old_count, old_count);
  ops.Where(ends, number(0), count, count);
  return ops.Finish(states, [](const OpWriter& apply, const Vars& kept) {
    const Var sum = apply.Binary("elementwise_add", kept[0], kept[1]);
    const Var steps = apply.Binary("elementwise_add", kept[2], kept[3]);
    return std::pair(sum, apply.Cast(steps, sum.dtype()));
  });
}

}  // namespace sluice::nn
