#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// Averages in the place of parameters. When it is destroyed, the parameters are
// what they were before, bit by bit, whatever was written to them meanwhile.
// The scope must outlive it. Belongs to one thread.
class SLUICE_API AppliedAverage {
 public:
  ~AppliedAverage() { Restore(); }
  AppliedAverage(const AppliedAverage&) = delete;
  AppliedAverage& operator=(const AppliedAverage&) = delete;

  // Restores the parameters now.
  void Restore();
  // Leaves the averages in their place for good.
  void Keep() { others_.clear(); }

 private:
  friend class ParameterAverage;
  AppliedAverage(Scope* scope, Feeds averages);

  Scope* scope_;
  Feeds others_;  // by parameter, what is not in its place now
};

// Averages of all parameters of a program over the steps of a training, which
// ops after the optimizer's compute. The states are in the scope, and
// SaveParameters keeps them. A value type, which may be used from many threads:
//
//   nn::Adam().Minimize(loss);
//   const auto ema = nn::ExponentialMovingAverage(program, {.decay = 0.99});
//   ...
//   {
//     const auto applied = ema.Apply(executor, &scope);
//     executor.Run(test, feeds, {accuracy.name()}, &scope);
//   }  // the parameters are restored
class SLUICE_API ParameterAverage {
 public:
  // Puts the averages in the parameters' place while the result exists. Raises
  // FailedPrecondition when no step was averaged yet.
  [[nodiscard]] AppliedAverage Apply(Executor& executor, Scope* scope) const;

 private:
  friend class AverageBuilder;

  std::string name_;
  Program program_;     // computes averages from the states
  std::string weight_;  // the variable of the weight of all steps, float64
  // Each parameter, and the variable of its average.
  std::vector<std::pair<std::string, std::string>> averages_;
};

struct ExponentialMovingAverageOptions {
  double decay = 0.999;  // how much of the average a step keeps
  // A variable of one element, such as StepCounter's: the decay is at most (1 +
  // steps) / (10 + steps).
  Var steps = {};
  std::string name = {};  // the prefix of its variables; empty: ema_0
};
// average = decay * average + (1 - decay) * parameter, begun as 0, and divided
// by 1 - the product of all decays, which makes it a mean from the first step
// on. Call it after Minimize. States are <parameter>.<name>_0 and
// left.float32.<name>_0. Raises InvalidArgument for a decay outside of [0, 1)
// and a program without parameters.
SLUICE_API ParameterAverage ExponentialMovingAverage(
    Program& program,
    const ExponentialMovingAverageOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());

struct ModelAverageOptions {
  double average_window_rate = 0.15;  // the window, as a part of all steps
  int64_t min_average_window = 10000;
  int64_t max_average_window = 10000;
  std::string name = {};  // empty: model_average_0
};
// The mean of each parameter over the last complete window of steps and the
// current one. A window ends when it has min_average_window steps and at least
// min(max_average_window, average_window_rate * all steps). Call it after
// Minimize. Raises InvalidArgument for a window below 1, a rate that is
// negative or not finite, and a program without parameters.
SLUICE_API ParameterAverage
ModelAverage(Program& program,
             const ModelAverageOptions& options = {},
             const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice::nn
