#include "sluice/framework/program/gradient_flow.h"

#include <algorithm>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::string Describe(int index, const OpDesc& op) {
  const std::string location = DescribeLocation(op.location);
  return Format("op {} ({}{}{})", index, op.type, location.empty() ? "" : ", ",
                location);
}

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

template <typename Predicate>
bool Any(const std::vector<int>& values, Predicate predicate) {
  return std::any_of(values.begin(), values.end(), predicate);
}

}  // namespace

GradientFlow::GradientFlow(const BlockDesc& block,
                           const ValueTable& values,
                           Request request)
    : block_(block),
      values_(values),
      request_(std::move(request)),
      leads_(values.size(), false),
      needs_(values.size(), false),
      first_reader_(values.size(), -1) {
  FindWhatLeads();
  FindParameters();
  FindWhatNeeds();
}

bool GradientFlow::Stops(const VarDesc& var) const {
  return !IsFloating(var.dtype) || var.stop_gradient ||
         request_.stops.count(var.name) > 0;
}

void GradientFlow::FindWhatLeads() {
  for (const std::string& target : request_.targets) {
    const int value = values_.Latest(target);
    if (value >= 0) leads_[value] = true;  // else of a block around it
  }
  for (int i = static_cast<int>(block_.ops.size()) - 1; i >= 0; --i) {
    const bool leads = Any(values_.op(i).outputs, [&](int output) {
      return leads_[output] && !values_.value(output).var->persistable;
    });
    if (!leads) continue;
    for (const int input : values_.op(i).inputs) {
      leads_[input] = true;
      first_reader_[input] = i;
    }
  }
}

void GradientFlow::FindParameters() {
  for (const std::string& name : request_.parameters) {
    int found = -1;
    for (int i = 0; i < values_.size(); ++i) {
      const ValueTable::Value& value = values_.value(i);
      if (!leads_[i] || value.var->name != name) continue;
      SLUICE_ENFORCE(found < 0, ErrorCode::kInvalidArgument,
                     "backward.parameter_rewritten",
                     "loss {} depends on two values of {}: before and after {} "
                     "wrote it; its gradient would have two meanings",
                     request_.loss, name,
                     Describe(value.writer, block_.ops[value.writer]));
      found = i;
    }
    parameters_.push_back(found);
    if (found >= 0) needs_[found] = true;
  }
}

void GradientFlow::FindWhatNeeds() {
  for (int i = 0; i < static_cast<int>(block_.ops.size()); ++i) {
    const ValueTable::OpValues& op = values_.op(i);
    if (!Any(op.inputs, [&](int input) { return needs_[input]; })) continue;
    bool passes = false;
    for (const int output : op.outputs) {
      const VarDesc& var = *values_.value(output).var;
      if (!leads_[output] || var.persistable || Stops(var)) continue;
      needs_[output] = true;
      passes = true;
    }
    if (passes) CheckOp(i);
  }
}

void GradientFlow::CheckOp(int index) const {
  const OpDesc& op = block_.ops[index];
  const OpSchema& schema = Registry::Global().Schema(op.type);
  if (schema.gradient_fn() != nullptr || schema.holds_blocks()) return;
  const ValueTable::OpValues& values = values_.op(index);
  const auto input = std::find_if(values.inputs.begin(), values.inputs.end(),
                                  [&](int value) { return needs_[value]; });
  const std::string reason = schema.NoGradientReason();
  Fail(ErrorCode::kInvalidArgument, "backward.no_gradient",
       "a path with no gradient: loss {} depends on variable {} "
       "through {}, which has no gradient{}; set stop_gradient where "
       "gradients are to stop",
       request_.loss, values_.value(*input).var->name, Describe(index, op),
       reason.empty() ? "" : ": " + reason);
}

void GradientFlow::FailNoPath(const std::string& parameter) const {
  constexpr size_t kNames = 5;
  std::vector<int> from;
  std::vector<std::string> names;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = request_.parameters[i];
    if (!parameter.empty() && name != parameter) continue;
    if (names.size() <= kNames) names.push_back(name);
    if (parameters_[i] >= 0) from.push_back(parameters_[i]);
  }
  if (names.size() > kNames) names.back() = "...";
  const std::string who = names.empty()       ? "no parameter gets a"
                          : names.size() == 1 ? names[0] + " gets no"
                                              : Join(names) + " get no";
  Raise(ErrorCode::kInvalidArgument, "backward.no_path",
        "{} gradient of loss {}: {}", who, request_.loss,
        names.empty() ? "the program has no persistable float variable without "
                        "stop_gradient"
                      : WhyNot(from));
}

// Follows the readers of `from` towards the loss, up to the first op that
// passes no gradient; returns why.
std::string GradientFlow::WhyNot(const std::vector<int>& from) const {
  if (from.empty()) return "the loss does not depend on it";
  std::vector<bool> reached(values_.size(), false);
  for (const int value : from) {
    reached[value] = true;
  }
  for (int i = 0; i < static_cast<int>(block_.ops.size()); ++i) {
    const ValueTable::OpValues& op = values_.op(i);
    if (!Any(op.inputs, [&](int input) { return reached[input]; })) continue;
    const VarDesc* stop = nullptr;
    bool passes = false;
    for (const int output : op.outputs) {
      const VarDesc& var = *values_.value(output).var;
      if (!leads_[output] || var.persistable) continue;
      reached[output] = true;
      passes = passes || !Stops(var);
      if (Stops(var)) stop = &var;
    }
    if (passes || stop == nullptr) continue;
    return Format("{} makes {}, {}", Describe(i, block_.ops[i]), stop->name,
                  IsFloating(stop->dtype)
                      ? std::string("where gradients stop")
                      : Format("which is {}, not a float", stop->dtype));
  }
  return "the ops between have gradients of other inputs only";
}

}  // namespace sluice
