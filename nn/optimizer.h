#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// Updates parameters by their gradients, with one op for each. A value type:
//
//   nn::Adam({.learning_rate = 0.01}).Minimize(loss);
//   nn::Optimizer{.op = "adagrad", .learning_rate = 0.1}.Minimize(loss);
struct SLUICE_API Optimizer {
  // Any op with inputs Param, Grad and LearningRate, also one of the user's.
  // Its other inputs that are not optional are states: a state <X>Pow is [1]
  // of float64 and starts as the attribute of the name <x>, others have the
  // parameter's shape and start as `first`.
  std::string op;
  double learning_rate = 0.001;
  AttributeMap attributes = {};
  // A variable [1] of the parameters' dtype, which is the rate instead, such as
  // ops::CosineDecay(nn::StepCounter(program), 0.1, 100, 90).
  Var schedule = {};
  double first = 0;
  // Gradients are multiplied by clip_norm / max(clip_norm, the norm of all of
  // them together); 0: they are not.
  double clip_norm = 0;
  // With a sparse gradient (VarDesc::rows), change only the rows that it has,
  // and their states. Otherwise it is made dense.
  bool lazy_mode = false;
  std::string name = {};  // the prefix of its variables; empty: adam_0

  // Appends the gradients of `loss` and the update of each parameter. States
  // <parameter>.<name>.moment1_0 and the rate <name>.learning_rate_0, which may
  // be written between steps, get their first values in the current Startup.
  // Returns the parameters with their gradients. Raises what AppendBackward
  // raises, NotFound for an unknown op, InvalidArgument for one that is no
  // optimizer and for a rate or a clip_norm that is negative or not finite.
  std::vector<ParamGrad> Minimize(
      const Var& loss,
      const BackwardOptions& options = {},
      const SourceLocation& location = SourceLocation::Here()) const;
};

// Lazy: rows without a gradient would not move. So is Adagrad.
SLUICE_API Optimizer Sgd(double learning_rate);

struct MomentumOptions {
  double momentum = 0.9;
  bool use_nesterov = false;
};
SLUICE_API Optimizer Momentum(double learning_rate,
                              const MomentumOptions& options = {});

struct AdamOptions {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool lazy_mode = false;
};
SLUICE_API Optimizer Adam(const AdamOptions& options = {});

SLUICE_API Optimizer Adagrad(double learning_rate, double epsilon = 1e-6);

// Counts the runs of a program, from 0: an int64 variable [1] that schedules
// read, called learning_rate_step_0 as in Python, or _1 and so on for further
// programs of the current Startup. SaveParameters keeps it.
SLUICE_API Var StepCounter(
    Program& program, const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice::nn
