#pragma once

// Parameters with initial values, and optimizers, for programs that are trained
// in C++: the counterpart of the Python package's layers and optimizers. All of
// it only appends ops; docs/training_in_cpp.md shows a whole program.
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"

namespace sluice {

// The op that initializes a parameter. It has no inputs, and its attributes
// `shape` and `dtype` are those of the parameter. A value type. Seed 0 means
// the seed of the process.
struct Initializer {
  std::string op;
  AttributeMap attributes;
};

inline Initializer Constant(double value) {
  return {"fill_constant", {{"value", value}}};
}
// Draws uniform numbers from [low, high).
inline Initializer Uniform(double low, double high, int64_t seed = 0) {
  return {"uniform_random", {{"min", low}, {"max", high}, {"seed", seed}}};
}
inline Initializer Normal(double mean, double deviation, int64_t seed = 0) {
  return {"gaussian_random",
          {{"mean", mean}, {"std", deviation}, {"seed", seed}}};
}
// Uniform with variance 2 / (inputs + outputs) of one neuron: Glorot, Bengio,
// Understanding the difficulty of training deep feedforward neural networks,
// AISTATS 2010. Raises InvalidArgument for sizes below 1.
inline Initializer Xavier(int64_t inputs, int64_t outputs, int64_t seed = 0) {
  SLUICE_ENFORCE(inputs > 0 && outputs > 0, ErrorCode::kInvalidArgument,
                 "training.xavier_sizes",
                 "Xavier: expected inputs and outputs above 0, got {} and {}",
                 inputs, outputs);
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  return Uniform(-limit, limit, seed);
}
// Uniform with variance 2 / inputs, for layers with relu: He et al., Delving
// deep into rectifiers, ICCV 2015. Raises InvalidArgument for sizes below 1.
inline Initializer Msra(int64_t inputs, int64_t seed = 0) {
  SLUICE_ENFORCE(inputs > 0, ErrorCode::kInvalidArgument, "training.msra_size",
                 "Msra: expected inputs above 0, got {}", inputs);
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs));
  return Uniform(-limit, limit, seed);
}

// Makes a persistable variable of `program`, and appends its initializer to
// `startup`, which is run once in the scope of the training. Raises what
// Program::Persistable and Program::AppendOp raise.
inline Var Parameter(Program& program,
                     Program& startup,
                     std::string_view name,
                     DType dtype,
                     const DDim& dims,
                     const Initializer& first,
                     const SourceLocation& location = SourceLocation::Here()) {
  AttributeMap attributes = first.attributes;
  attributes["shape"] = std::vector<int64_t>(dims.begin(), dims.end());
  attributes["dtype"] = dtype;
  startup.Persistable(name, dtype, dims);
  startup.AppendOp(first.op, {}, std::move(attributes), location,
                   {{"Out", {std::string(name)}}});
  return program.Persistable(name, dtype, dims);
}

// The op that updates a parameter by its gradient, and the state variables that
// it keeps for each parameter. A value type.
struct Optimizer {
  struct State {
    std::string name;  // an input; the output's name has "Out" appended
    double first = 0;
    bool single = false;  // a scalar instead of one number for each element
  };

  std::string op;
  double rate = 0;
  AttributeMap attributes = {};
  std::vector<State> states = {};
  // A variable of shape [1] and the parameters' dtype that the program computes
  // and that is the rate instead: the Out of a schedule, such as
  // ops::ExponentialDecay(StepCounter(program, startup), 0.1, 1000, 0.5).
  std::string schedule = {};
};

inline Optimizer Sgd(double rate) {
  return {"sgd", rate};
}
inline Optimizer Momentum(double rate,
                          double momentum = 0.9,
                          bool nesterov = false) {
  return {"momentum",
          rate,
          {{"mu", momentum}, {"use_nesterov", nesterov}},
          {{"Velocity"}}};
}
namespace internal {

// Adam and the optimizers that keep the same states.
inline Optimizer AdamLike(const char* op,
                          double rate,
                          double beta1,
                          double beta2,
                          AttributeMap more) {
  more["beta1"] = beta1;
  more["beta2"] = beta2;
  return {op,
          rate,
          std::move(more),
          {{"Moment1"},
           {"Moment2"},
           {"Beta1Pow", beta1, true},
           {"Beta2Pow", beta2, true}}};
}

}  // namespace internal

inline Optimizer Adam(double rate = 0.001,
                      double beta1 = 0.9,
                      double beta2 = 0.999,
                      double epsilon = 1e-8) {
  return internal::AdamLike("adam", rate, beta1, beta2, {{"epsilon", epsilon}});
}
inline Optimizer AdamW(double rate = 0.001,
                       double beta1 = 0.9,
                       double beta2 = 0.999,
                       double epsilon = 1e-8,
                       double weight_decay = 0.01) {
  return internal::AdamLike("adamw", rate, beta1, beta2,
                            {{"epsilon", epsilon}, {"coeff", weight_decay}});
}
inline Optimizer Lamb(double rate = 0.001,
                      double weight_decay = 0.01,
                      double beta1 = 0.9,
                      double beta2 = 0.999,
                      double epsilon = 1e-6) {
  return internal::AdamLike(
      "lamb", rate, beta1, beta2,
      {{"epsilon", epsilon}, {"weight_decay", weight_decay}});
}
inline Optimizer Adamax(double rate = 0.001,
                        double beta1 = 0.9,
                        double beta2 = 0.999,
                        double epsilon = 1e-8) {
  return {"adamax",
          rate,
          {{"beta1", beta1}, {"beta2", beta2}, {"epsilon", epsilon}},
          {{"Moment"}, {"InfNorm"}, {"Beta1Pow", beta1, true}}};
}
inline Optimizer LarsMomentum(double rate,
                              double momentum = 0.9,
                              double coeff = 0.001,
                              double weight_decay = 0.0005) {
  return {"lars_momentum",
          rate,
          {{"mu", momentum},
           {"lars_coeff", coeff},
           {"lars_weight_decay", weight_decay}},
          {{"Velocity"}}};
}
inline Optimizer Adagrad(double rate, double epsilon = 1e-6, double first = 0) {
  return {"adagrad", rate, {{"epsilon", epsilon}}, {{"Moment", first}}};
}
inline Optimizer DecayedAdagrad(double rate,
                                double decay = 0.95,
                                double epsilon = 1e-6) {
  return {"decayed_adagrad",
          rate,
          {{"decay", decay}, {"epsilon", epsilon}},
          {{"Moment"}}};
}
inline Optimizer Adadelta(double rate = 1,
                          double epsilon = 1e-6,
                          double rho = 0.95) {
  return {"adadelta",
          rate,
          {{"epsilon", epsilon}, {"rho", rho}},
          {{"AvgSquaredGrad"}, {"AvgSquaredUpdate"}}};
}
inline Optimizer RmsProp(double rate,
                         double rho = 0.95,
                         double epsilon = 1e-6,
                         double momentum = 0,
                         bool centered = false) {
  return {"rmsprop",
          rate,
          {{"decay", rho},
           {"epsilon", epsilon},
           {"momentum", momentum},
           {"centered", centered}},
          {{"MeanSquare"}, {"MeanGrad"}, {"Moment"}}};
}
inline Optimizer Ftrl(double rate,
                      double l1 = 0,
                      double l2 = 0,
                      double power = -0.5) {
  return {"ftrl",
          rate,
          {{"l1", l1}, {"l2", l2}, {"lr_power", power}},
          {{"SquaredAccumulator"}, {"LinearAccumulator"}}};
}

namespace internal {

// Returns `base`, with a number appended if that name is taken.
inline std::string FreshName(const Program& program, const std::string& base) {
  std::string name = base;
  for (int i = 1; program.block().FindVar(name) != nullptr; ++i) {
    name = base + "_" + std::to_string(i);
  }
  return name;
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

}  // namespace internal

// Counts the runs of a program, from 0: an int64 variable of shape [1] that
// schedules read, called learning_rate_step as in Python. SaveParameters keeps
// it.
inline Var StepCounter(
    Program& program,
    Program& startup,
    const SourceLocation& location = SourceLocation::Here()) {
  const internal::PurposeGuard guard(program, OpPurpose::kOptimize);
  const char* const name = "learning_rate_step";
  if (program.HasVar(name)) return {&program, name};
  const Var step = Parameter(program, startup, name, DType::kInt64, {1},
                             Constant(-1), location);
  program.AppendOp("scale", {{"X", {name}}}, {{"bias", 1.0}}, location,
                   {{"Out", {name}}});
  return step;
}

// Appends the gradients of `loss` and an update op for each parameter.
// `startup` initializes the optimizer's own variables: the learning rate
// `<op>.rate` and the states `<parameter>.<op>.<state>`, with a number appended
// if the name is taken. Returns the updated parameters. Raises what
// AppendBackward raises, and InvalidArgument for a learning rate that is
// negative or not finite.
inline std::vector<ParamGrad> Minimize(
    const Optimizer& optimizer,
    const Var& loss,
    Program& startup,
    const BackwardOptions& options = {},
    const SourceLocation& location = SourceLocation::Here()) {
  SLUICE_ENFORCE(std::isfinite(optimizer.rate) && optimizer.rate >= 0,
                 ErrorCode::kInvalidArgument, "training.rate",
                 "{}: the learning rate must be finite and at least 0, got {}",
                 optimizer.op, optimizer.rate);
  Program& program = loss.program();
  const auto gradients = AppendBackward(loss, options, location);
  const internal::PurposeGuard guard(program, OpPurpose::kOptimize);
  const auto keep = [&](const std::string& base, DType dtype, const DDim& dims,
                        double first) {
    const std::string name = internal::FreshName(program, base);
    Parameter(program, startup, name, dtype, dims, Constant(first), location);
    return name;
  };
  std::map<DType, std::string> rates;
  for (const auto& [param, grad] : gradients) {
    const VarDesc var = program.FindVar(param);
    Program::ArgList inputs = {{"Param", {param}}, {"Grad", {grad}}};
    Program::ArgList outputs = {{"ParamOut", {param}}};
    std::string& rate = rates[var.dtype];
    if (rate.empty()) rate = optimizer.schedule;
    if (rate.empty()) {
      rate = keep(optimizer.op + ".rate", var.dtype, {1}, optimizer.rate);
    }
    inputs.push_back({"LearningRate", {rate}});
    for (const Optimizer::State& state : optimizer.states) {
      const std::string name =
          keep(param + "." + optimizer.op + "." + state.name, var.dtype,
               state.single ? DDim({1}) : var.dims, state.first);
      inputs.push_back({state.name, {name}});
      outputs.push_back({state.name + "Out", {name}});
    }
    program.AppendOp(optimizer.op, std::move(inputs), optimizer.attributes,
                     location, std::move(outputs));
  }
  return gradients;
}

}  // namespace sluice
