#include "sluice/nn/optimizer.h"

#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/nn/check.h"
#include "sluice/nn/op_writer.h"
#include "sluice/nn/startup.h"

namespace sluice::nn {

namespace {

// "beta1_pow" for "Beta1Pow".
std::string SnakeCase(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool after_upper =
        text.empty() ||
        std::isupper(static_cast<unsigned char>(name[text.size() - 1])) != 0;
    if (upper && !after_upper) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

const OpSchema& SchemaOf(const Optimizer& optimizer,
                         const SourceLocation& location) try {
  const OpSchema& schema = Registry::Global().Schema(optimizer.op);
  for (const char* input : {"Param", "Grad", "LearningRate"}) {
    SLUICE_ENFORCE(schema.FindInput(input) != nullptr,
                   ErrorCode::kInvalidArgument, "nn.optimizer_op",
                   "op {} is no optimizer: it has no input {}", optimizer.op,
                   input);
  }
  SLUICE_ENFORCE(
      std::isfinite(optimizer.learning_rate) && optimizer.learning_rate >= 0,
      ErrorCode::kInvalidArgument, "nn.learning_rate",
      "{}: learning_rate must be finite and at least 0, got {}", optimizer.op,
      optimizer.learning_rate);
  SLUICE_ENFORCE(std::isfinite(optimizer.clip_norm) && optimizer.clip_norm >= 0,
                 ErrorCode::kInvalidArgument, "nn.clip_norm",
                 "{}: clip_norm must be finite and at least 0, got {}",
                 optimizer.op, optimizer.clip_norm);
  return schema;
} catch (Error& error) {
  AddLocation(location, &error);
  throw;
}

// Returns the first value of the state <X>Pow: the attribute <x>. Nothing for
// other states.
std::optional<double> FirstPower(const OpSchema& schema,
                                 const AttributeMap& attributes,
                                 std::string_view state) {
  if (!state.ends_with("Pow")) return {};
  const std::string factor = SnakeCase(state.substr(0, state.size() - 3));
  const AttrDef* known = schema.FindAttr(factor);
  if (known == nullptr || known->type != AttrType::kFloat) return {};
  const auto given = attributes.find(factor);
  const Attribute value = given != attributes.end()
                              ? given->second
                              : known->default_value.value_or(0.0);
  if (!std::holds_alternative<double>(value)) return {};
  return std::get<double>(value);
}

// Appends what GradientClipByGlobalNorm of Python appends.
void ClipByGlobalNorm(double limit,
                      LayerHelper* helper,
                      std::vector<ParamGrad>* pairs) {
  Program& program = helper->program();
  const auto append = [&](const char* op, const Program::ArgList& inputs,
                          AttributeMap attributes = {}) {
    return helper->Append(op, inputs, std::move(attributes)).name();
  };
  const auto norm = [&](const std::string& x) {
    return append("reduce_l2", {{"X", {x}}}, {{"reduce_all", true}});
  };
  // The rows of a sparse gradient, each once, have its norm.
  ArgVars norms;
  for (auto& [param, grad] : *pairs) {
    const Var rows = program.Find(grad).rows();
    if (rows.valid()) {
      grad = append("merge_rows", {{"X", {grad}}, {"Rows", {rows.name()}}});
    }
    norms.push_back(append("reshape", {{"X", {norm(grad)}}},
                           {{"shape", std::vector<int64_t>{1}}}));
  }
  const std::string all =
      norm(append("concat", {{"X", norms}}, {{"axis", int64_t{0}}}));
  const std::string most = append("fill_constant", {},
                                  {{"shape", std::vector<int64_t>{}},
                                   {"dtype", program.FindVar(all).dtype},
                                   {"value", limit}});
  const std::string divisor =
      append("elementwise_max", {{"X", {all}}, {"Y", {most}}});
  const std::string factor =
      append("elementwise_div", {{"X", {most}}, {"Y", {divisor}}});
  for (auto& [param, grad] : *pairs) {
    const Var rows = program.Find(grad).rows();
    grad = append("elementwise_mul", {{"X", {grad}}, {"Y", {factor}}});
    if (rows.valid()) program.SetRows(grad, rows.name());
  }
}

// Returns the inputs of the update that have the parameter and its gradient,
// which becomes dense unless the update is lazy.
Program::ArgList GradientInputs(const ParamGrad& pair,
                                bool lazy,
                                LayerHelper* helper) {
  Program::ArgList inputs = {{"Param", {pair.param}}, {"Grad", {pair.grad}}};
  const Var rows = helper->program().Find(pair.grad).rows();
  if (!rows.valid()) return inputs;
  if (lazy) {
    inputs.push_back({"Rows", {rows.name()}});
  } else {
    inputs[1].second = {helper
                            ->Append("rows_to_dense", {{"X", {pair.grad}},
                                                       {"Rows", {rows.name()}},
                                                       {"Like", {pair.param}}})
                            .name()};
  }
  return inputs;
}

}  // namespace

std::vector<ParamGrad> Optimizer::Minimize(
    const Var& loss,
    const BackwardOptions& options,
    const SourceLocation& location) const {
  const OpSchema& schema = SchemaOf(*this, location);
  LayerHelper helper(op, loss, name, location);
  Program& program = loss.program();
  std::vector<ParamGrad> pairs = AppendBackward(loss, options, location);
  const PurposeGuard guard(program, OpPurpose::kOptimize);
  const auto keep = [&](const std::string& key, DType dtype, const DDim& dims,
                        double start) {
    return helper.State(key, dims, dtype, Constant(start)).name();
  };
  std::vector<ParamGrad> steps = pairs;
  if (clip_norm > 0) ClipByGlobalNorm(clip_norm, &helper, &steps);
  const bool lazy = lazy_mode && schema.FindInput("Rows") != nullptr;
  std::map<DType, std::string> rates;
  for (const auto& [param, grad] : steps) {
    const DType dtype = program.FindVar(param).dtype;
    const DDim dims = program.FindVar(param).dims;
    Program::ArgList inputs = GradientInputs({param, grad}, lazy, &helper);
    Program::ArgList outputs = {{"ParamOut", {param}}};
    for (const ArgDef& input : schema.inputs()) {
      if (input.traits.optional || input.name == "Param" ||
          input.name == "Grad" || input.name == "LearningRate") {
        continue;
      }
      const std::string key =
          Format("{}.{}.{}", param, helper.name(), SnakeCase(input.name));
      const auto power = FirstPower(schema, attributes, input.name);
      // Powers are in float64, so that 1 - power keeps its digits.
      const std::string state = power ? keep(key, DType::kFloat64, {1}, *power)
                                      : keep(key, dtype, dims, first);
      inputs.push_back({input.name, {state}});
      outputs.push_back({input.name + "Out", {state}});
    }
    std::string& rate = rates[dtype];
    if (schedule.valid()) rate = schedule.name();
    if (rate.empty()) {
      rate = keep(helper.name() + ".learning_rate", dtype, {1}, learning_rate);
    }
    inputs.push_back({"LearningRate", {rate}});
    helper.Append(op, inputs, attributes, std::move(outputs));
  }
  return pairs;
}

Optimizer Sgd(double learning_rate) {
  return {.op = "sgd", .learning_rate = learning_rate, .lazy_mode = true};
}

Optimizer Momentum(double learning_rate, const MomentumOptions& options) {
  return {.op = "momentum",
          .learning_rate = learning_rate,
          .attributes = {{"mu", options.momentum},
                         {"use_nesterov", options.use_nesterov}}};
}

Optimizer Adam(const AdamOptions& options) {
  return {.op = "adam",
          .learning_rate = options.learning_rate,
          .attributes = {{"beta1", options.beta1},
                         {"beta2", options.beta2},
                         {"epsilon", options.epsilon}},
          .lazy_mode = options.lazy_mode};
}

Optimizer Adagrad(double learning_rate, double epsilon) {
  return {.op = "adagrad",
          .learning_rate = learning_rate,
          .attributes = {{"epsilon", epsilon}},
          .lazy_mode = true};
}

Var StepCounter(Program& program, const SourceLocation& location) {
  const std::string key = "learning_rate_step";
  for (const VarDesc& var : program.block().vars()) {
    if (var.persistable && var.name.starts_with(key)) {
      return program.Find(var.name);
    }
  }
  const PurposeGuard guard(program, OpPurpose::kOptimize);
  LayerHelper helper(key, program, key, location);
  const ArgVars step = {
      helper.State(key, {1}, DType::kInt64, Constant(-1)).name()};
  return helper.Append("scale", {{"X", step}}, {{"bias", 1.0}},
                       {{"Out", step}});
}

}  // namespace sluice::nn
