#include "sluice/operators/conv/packed_conv2d_kernel.h"
#include "sluice/operators/math/conv/conv2d_winograd.h"
#include "sluice/operators/math/conv/conv2d_work.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// A tile has `size` x `size` outputs.
template <int64_t size>
struct Winograd {
  using Plan = Conv2dWinogradPlan;

  static Plan MakePlan(const Conv2dGeometry& g, int num_threads) {
    return PlanConv2dWinograd(g, size, num_threads);
  }
  static std::string Name() { return Format("winograd {}x{}", size, size); }
  static size_t ScratchBytes(const Plan& plan) { return plan.scratch_bytes(); }
  static void Pack(const Plan& plan,
                   const float* filter,
                   const double* factors,
                   float* packed) {
    PackWinogradFilter(plan, filter, factors, packed);
  }
  static void Run(const Plan& plan,
                  const float* input,
                  const PackedFilter& filter,
                  const float* bias,
                  const OutputChain<float>& chain,
                  float* output,
                  void* scratch) {
    Conv2dWinograd(plan, input, filter, bias, chain, output, scratch);
  }
  static std::string Refusal(const KernelQuery& query) {
    const Conv2dGeometry g = Conv2dGeometryOf(query);
    if (FitsConv2dWinograd(g)) return "";
    return Format(
        "needs NHWC and filters of 3x3 without strides, dilations or groups, "
        "got {}, {}x{}, strides {}x{}, dilations {}x{}, {} groups",
        query.Attr<std::string>("data_format"), g.kernel_h, g.kernel_w,
        g.stride_h, g.stride_w, g.dilation_h, g.dilation_w, g.groups);
  }
  static KernelWork Work(const KernelQuery& query) {
    return Conv2dWinogradWork(Conv2dGeometryOf(query), size,
                              HasConstantFilter(query));
  }
};
using Winograd2 = PackedConv2dKernel<Winograd<2>, float>;
using Winograd4 = PackedConv2dKernel<Winograd<4>, float>;

}  // namespace

REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, winograd_2x2, KernelTraits(), Winograd2);
REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, winograd_4x4, KernelTraits(), Winograd4);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, winograd_2x2, KernelTraits(), Winograd2);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, winograd_4x4, KernelTraits(), Winograd4);

}  // namespace sluice
