#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/laboratory/kernel_check.h"
#include "sluice/platform/export.h"

namespace sluice {

// One op as a function of its inputs: a weighted sum of its outputs, whose
// gradient is computed in two ways. Used by one thread.
class SLUICE_API GradientDifferences {
 public:
  // The float64 values of the feeds are more than 2e-4 apart, so that
  // differences cross no kink. `weights` makes the weights of an output. Raises
  // what running the op raises.
  GradientDifferences(OneOp op,
                      const std::function<Tensor(const DDim&)>& weights);

  const OpDesc& forward() const { return op_.program.block().ops[0]; }

  // Compares the gradients that `grads` compute with central differences over a
  // step of 1e-4 in float64: |a - n| <= relative_error max(1, |a|, |n|).
  // Returns "" or what differs, and counts the gradients that were compared:
  // none if the gradient of an output is read that is not float64.
  std::string Compare(const std::vector<OpDesc>& grads,
                      double relative_error,
                      int* compared);

 private:
  bool Differentiable(const std::vector<OpDesc>& grads) const;
  double Change(const std::vector<Tensor>& from,
                const std::vector<Tensor>& to) const;
  std::string CompareElements(const std::string& name,
                              const Tensor& got,
                              double relative_error,
                              Tensor& input) const;
  const std::string& OutputVar(size_t output) const {
    return forward().outputs[output].second[0];
  }

  OneOp op_;
  Executor executor_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Tensor> outputs_;
  std::vector<Tensor> weights_;  // no data for outputs that are not float64
};

// Compares the gradient of an op, computed by the ops that `gradient` appends,
// with differences (relative error 1e-6). Uses the op's examples of at most 400
// elements. Mistakes have the check "gradient"; so does an error that running
// the op raises. No example is left if the op has no float64 kernel, or a
// required output is not floating-point. `report.kernel` is null.
SLUICE_API KernelReport CheckGradient(const OpSchema& schema,
                                      OpSchema::GradientFn gradient,
                                      const KernelCheckOptions& options = {});

}  // namespace sluice
