#include "sluice/operators/conv/conv2d_depthwise.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/packed_conv2d_kernel.h"

namespace sluice {

namespace {

struct DepthwisePlan {
  Conv2dGeometry g;
  int64_t packed_size() const { return g.filter_size(); }
};

struct DepthwiseMethod {
  using Plan = DepthwisePlan;

  static Plan MakePlan(const Conv2dGeometry& g, int /*num_threads*/) {
    return {g};
  }
  static std::string Name() { return "depthwise"; }
  static size_t ScratchBytes(const Plan& /*plan*/) { return 0; }
  static void Pack(const Plan& plan,
                   const float* filter,
                   const double* factors,
                   float* packed) {
    PackDepthwise(plan.g, filter, factors, packed);
  }
  static void Run(const Plan& plan,
                  const float* input,
                  const PackedFilter& filter,
                  const float* bias,
                  const OutputChain<float>& chain,
                  float* output,
                  void* /*scratch*/) {
    DepthwiseLast(plan.g, input, filter.packed, bias, chain, output);
  }
  static std::string Refusal(const KernelQuery& query) {
    const Conv2dGeometry g = Conv2dGeometryOf(query);
    if (IsDepthwiseLast(g)) return "";
    return Format(
        "needs NHWC, a group and a filter for each channel, and filters of at "
        "most {} elements, got {}, {} groups of {} channels, {} filters of "
        "{}x{}",
        kDepthwiseTaps, query.Attr<std::string>("data_format"), g.groups,
        g.in_c, g.out_c, g.kernel_h, g.kernel_w);
  }
  static KernelWork Work(const KernelQuery& query) {
    KernelWork work = Conv2dDirectWork(
        Conv2dGeometryOf(query), Conv2dDirection::kForward, sizeof(float));
    if (HasConstantFilter(query)) work.packed = 0;
    return work;
  }
};
using DepthwiseKernel = PackedConv2dKernel<DepthwiseMethod, float>;

}  // namespace

REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, depthwise, KernelTraits(), DepthwiseKernel);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, depthwise, KernelTraits(), DepthwiseKernel);

}  // namespace sluice
