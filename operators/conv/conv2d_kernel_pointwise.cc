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
};

std::string FitsPointwise(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (FitsConv2dPointwise(g)) return "";
  return Format(
      "needs NHWC and filters of 1x1 without padding, got {}, {}x{}, padding "
      "{} {} {} {}",
      query.Attr<std::string>("data_format"), g.kernel_h, g.kernel_w, g.pad_top,
      g.pad_bottom, g.pad_left, g.pad_right);
}

KernelWork PointwiseWork(const KernelQuery& query) {
  KernelWork work =
      Conv2dPointwiseWork(Conv2dGeometryOf(query), HasConstantFilter(query));
  work.extra_bytes += OperandBytes(query);
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   pointwise,
                   KernelTraits().Estimate(&PointwiseWork).When(&FitsPointwise),
                   PackedConv2dKernel<Pointwise, float>);
REGISTER_OP_KERNEL(fused_conv2d,
                   PLAIN,
                   CPUPlace,
                   pointwise,
                   KernelTraits().Estimate(&PointwiseWork).When(&FitsPointwise),
                   PackedConv2dKernel<Pointwise, float>);

}  // namespace sluice
