#include "sluice/nn/optimizer.h"

#include <cctype>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/nn/check.h"
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

// Sets the purpose of the ops that are appended during its lifetime.
class PurposeGuard {
 public:
  PurposeGuard(Program& program, OpPurpose purpose)
      : program_(program), before_(program.purpose()) {
    program.SetPurpose(purpose);
  }
  ~PurposeGuard() { program_.SetPurpose(before_); }
  PurposeGuard(const PurposeGuard&) = delete;
  PurposeGuard& operator=(const PurposeGuard&) = delete;

 private:
  Program& program_;
  OpPurpose before_;
};

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
  return schema;
} catch (Error& error) {
  AddLocation(location, &error);
  throw;
}

// Appends the updates of one optimizer, and its variables.
class Updates {
 public:
  Updates(const Optimizer& optimizer,
          const OpSchema& schema,
          LayerHelper& helper)
      : optimizer_(optimizer), schema_(schema), helper_(helper) {}

  void Append(const ParamGrad& pair) {
    const VarDesc param = helper_.program().FindVar(pair.param);
    Program::ArgList inputs = {{"Param", {pair.param}}, {"Grad", {pair.grad}}};
    Program::ArgList outputs = {{"ParamOut", {pair.param}}};
    for (const ArgDef& input : schema_.inputs()) {
      if (input.traits.optional || input.name == "Param" ||
          input.name == "Grad" || input.name == "LearningRate") {
        continue;
      }
      const std::string state = State(param, input.name);
      inputs.push_back({input.name, {state}});
      outputs.push_back({input.name + "Out", {state}});
    }
    inputs.push_back({"LearningRate", {Rate(param.dtype)}});
    helper_.Append(schema_.name(), inputs, optimizer_.attributes,
                   std::move(outputs));
  }

 private:
  std::string Keep(const std::string& key,
                   DType dtype,
                   const DDim& dims,
                   double first) {
    const std::string name = Startup::Current(optimizer_.op, helper_.location())
                                 .Generate(key, helper_.program());
    return helper_.Persistable(name, dims, dtype, Constant(first)).name();
  }

  std::string State(const VarDesc& param, const std::string& input) {
    const std::string key =
        Format("{}.{}.{}", param.name, helper_.name(), SnakeCase(input));
    if (input.ends_with("Pow")) {
      const std::string factor =
          SnakeCase(std::string_view(input).substr(0, input.size() - 3));
      const auto given = optimizer_.attributes.find(factor);
      const AttrDef* known = schema_.FindAttr(factor);
      const Attribute* value =
          given != optimizer_.attributes.end()       ? &given->second
          : known != nullptr && known->default_value ? &*known->default_value
                                                     : nullptr;
      if (value != nullptr && std::holds_alternative<double>(*value)) {
        return Keep(key, param.dtype, {1}, std::get<double>(*value));
      }
    }
    return Keep(key, param.dtype, param.dims, optimizer_.first);
  }

  std::string Rate(DType dtype) {
    if (optimizer_.schedule.valid()) return optimizer_.schedule.name();
    std::string& rate = rates_[dtype];
    if (rate.empty()) {
      rate = Keep(helper_.name() + ".learning_rate", dtype, {1},
                  optimizer_.learning_rate);
    }
    return rate;
  }

  const Optimizer& optimizer_;
  const OpSchema& schema_;
  LayerHelper& helper_;
  std::map<DType, std::string> rates_;
};

}  // namespace

std::vector<ParamGrad> Optimizer::Minimize(
    const Var& loss,
    const BackwardOptions& options,
    const SourceLocation& location) const {
  const OpSchema& schema = SchemaOf(*this, location);
  LayerHelper helper(op, loss, name, location);
  std::vector<ParamGrad> pairs = AppendBackward(loss, options, location);
  const PurposeGuard guard(loss.program(), OpPurpose::kOptimize);
  Updates updates(*this, schema, helper);
  for (const ParamGrad& pair : pairs) {
    updates.Append(pair);
  }
  return pairs;
}

Optimizer Sgd(double learning_rate) {
  return {.op = "sgd", .learning_rate = learning_rate};
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
                         {"epsilon", options.epsilon}}};
}

Optimizer Adagrad(double learning_rate, double epsilon) {
  return {.op = "adagrad",
          .learning_rate = learning_rate,
          .attributes = {{"epsilon", epsilon}}};
}

Var StepCounter(Program& program, const SourceLocation& location) {
  const char* const name = "learning_rate_step";
  if (program.HasVar(name)) return program.Find(name);
  const PurposeGuard guard(program, OpPurpose::kOptimize);
  LayerHelper helper(name, program, name, location);
  helper.Persistable(name, {1}, DType::kInt64, Constant(-1));
  return helper.Append("scale", {{"X", {name}}}, {{"bias", 1.0}},
                       {{"Out", {name}}});
}

}  // namespace sluice::nn
