#include "sluice/operators/conv/packed_conv2d_kernel.h"
#include "sluice/operators/math/conv/conv2d_pointwise.h"
#include "sluice/operators/math/conv/conv2d_work.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

struct Pointwise {
  using Plan = Conv2dPointwisePlan;

  static Plan MakePlan(const Conv2dGeometry& g, int num_threads) {
    return PlanConv2dPointwise(g, num_threads);
  }
  static std::string Name() { return "pointwise"; }
  static size_t ScratchBytes(const Plan& /*plan*/) { return 0; }
  static void Pack(const Plan& plan,
                   const float* filter,
                   const double* factors,
                   float* packed) {
    PackPointwiseFilter(plan, filter, factors, packed);
  }
  static void Run(const Plan& plan,
                  const float* input,
                  const PackedFilter& filter,
                  const float* bias,
                  const OutputChain<float>& chain,
                  float* output,
                  void* /*scratch*/) {
    Conv2dPointwise(plan, input, filter.packed, bias, chain, output);
  }
  static std::string Refusal(const KernelQuery& query) {
    const Conv2dGeometry g = Conv2dGeometryOf(query);
    if (FitsConv2dPointwise(g)) return "";
    return Format(
        "needs NHWC and filters of 1x1 without padding, got {}, {}x{}, padding "
        "{} {} {} {}",
        query.Attr<std::string>("data_format"), g.kernel_h, g.kernel_w,
        g.pad_top, g.pad_bottom, g.pad_left, g.pad_right);
  }
  static KernelWork Work(const KernelQuery& query) {
    return Conv2dPointwiseWork(Conv2dGeometryOf(query),
                               HasConstantFilter(query));
  }
};
using PointwiseKernel = PackedConv2dKernel<Pointwise, float>;

}  // namespace

REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, pointwise, KernelTraits(), PointwiseKernel);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, pointwise, KernelTraits(), PointwiseKernel);

}  // namespace sluice
