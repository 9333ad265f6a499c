#include "sluice/operators/norm/batch_norm_kernel.h"

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// With channels last, each element loads each factor. Sums are in double.
KernelWork Work(const KernelQuery& query) {
  const auto elements = static_cast<double>(query.inputs[0].numel());
  KernelWork work = DefaultKernelWork(query);
  work.costs = "batch_norm";
  if (query.Attr<std::string>("data_format") == "NHWC") {
    work.moves = elements;
  }
  if (!query.Attr<bool>("is_test")) {
    work.sums = elements;
    work.parallel_loops = 3;
  }
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(batch_norm,
                       EstimatedBy<&Work>,
                       BatchNormKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(fused_batch_norm,
                       EstimatedBy<&Work>,
                       BatchNormKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(batch_norm_grad, BatchNormGradKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(fused_batch_norm_grad, BatchNormGradKernel<FloatTypes>);

}  // namespace sluice
