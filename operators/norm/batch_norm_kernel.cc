#include "sluice/operators/norm/batch_norm_kernel.h"

#include <string>

#include "sluice/framework/op/op_registry.h"

namespace sluice::operators {
namespace {

// With channels last, each element loads each factor. Sums are in double.
framework::KernelWork Work(const framework::KernelQuery& query) {
  const auto elements = static_cast<double>(query.inputs[0].numel());
  framework::KernelWork work = framework::DefaultKernelWork(query);
  if (query.Attr<std::string>("data_format") == "NHWC") {
    work.moves = 0.4 * elements;
  }
  if (!query.Attr<bool>("is_test")) {
    work.moves += 2.5 * elements;
    work.parallel_loops = 3;
  }
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(batch_norm,
                   PLAIN,
                   CPUPlace,
                   plain,
                   framework::KernelTraits().Estimate(&Work),
                   BatchNormKernel<float>,
                   BatchNormKernel<double>);
REGISTER_OP_KERNEL(fused_batch_norm,
                   PLAIN,
                   CPUPlace,
                   plain,
                   framework::KernelTraits().Estimate(&Work),
                   BatchNormKernel<float>,
                   BatchNormKernel<double>);
REGISTER_OP_CPU_KERNEL(batch_norm_grad,
                       BatchNormGradKernel<float>,
                       BatchNormGradKernel<double>);
REGISTER_OP_CPU_KERNEL(fused_batch_norm_grad,
                       BatchNormGradKernel<float>,
                       BatchNormGradKernel<double>);

}  // namespace sluice::operators
