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
};
using Winograd2 = Winograd<2>;
using Winograd4 = Winograd<4>;

std::string FitsWinograd(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (FitsConv2dWinograd(g)) return "";
  return Format(
      "needs NHWC and filters of 3x3 without strides, dilations or groups, got "
      "{}, {}x{}, strides {}x{}, dilations {}x{}, {} groups",
      query.Attr<std::string>("data_format"), g.kernel_h, g.kernel_w,
      g.stride_h, g.stride_w, g.dilation_h, g.dilation_w, g.groups);
}

template <int64_t size>
KernelWork WinogradWork(const KernelQuery& query) {
  KernelWork work = Conv2dWinogradWork(Conv2dGeometryOf(query), size,
                                       HasConstantFilter(query));
  work.extra_bytes += OperandBytes(query);
  return work;
}

template <int64_t size>
KernelTraits Traits() {
  return KernelTraits().Estimate(&WinogradWork<size>).When(&FitsWinograd);
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   winograd_2x2,
                   Traits<2>(),
                   PackedConv2dKernel<Winograd2, float>);
REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   winograd_4x4,
                   Traits<4>(),
                   PackedConv2dKernel<Winograd4, float>);
REGISTER_OP_KERNEL(fused_conv2d,
                   PLAIN,
                   CPUPlace,
                   winograd_2x2,
                   Traits<2>(),
                   PackedConv2dKernel<Winograd2, float>);
REGISTER_OP_KERNEL(fused_conv2d,
                   PLAIN,
                   CPUPlace,
                   winograd_4x4,
                   Traits<4>(),
                   PackedConv2dKernel<Winograd4, float>);

}  // namespace sluice
