#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/math/conv/channel_sum.h"
#include "sluice/operators/math/conv/conv2d_thin.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// With more channels, it pays to store patches for a product of matrices.
constexpr int64_t kThin = 4;

template <typename T>
class Conv2dThinGradFilterKernel final : public OpKernel {
 public:
  explicit Conv2dThinGradFilterKernel(
      const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    plan_ = math::PlanConv2dThin(Conv2dGeometryOf(preparation.query));
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
    dims_ = preparation.query.inputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const math::Conv2dGeometry& g = plan_.g;
    const Tensor& input = context.Input("Input");
    const Tensor& grad = context.Input("Output@GRAD");
    if (context.HasOutput("Bias@GRAD")) {
      Tensor& out = context.AllocateOutput("Bias@GRAD", {g.out_c});
      math::ChannelSum(grad.data<T>(), g.n, g.out_c, g.out_pixels(), g.nhwc,
                       out.data<T>());
    }
    if (!context.HasOutput("Filter@GRAD")) return;
    Tensor& out = context.AllocateOutput("Filter@GRAD", dims_);
    if (out.numel() == 0) return;
    math::Conv2dThinGradFilter(plan_, input.data<T>(), grad.data<T>(),
                               out.data<T>(), context.scratch());
  }

 private:
  math::Conv2dThinPlan plan_;
  framework::DDim dims_;
};

std::string ThinInput(const framework::KernelQuery& query) {
  const math::Conv2dGeometry g = Conv2dGeometryOf(query);
  if (math::FitsConv2dThin(g) && g.in_c <= kThin) return "";
  return platform::Format(
      "needs NHWC, one group, no dilation and at most {} input channels, got "
      "{} in {} groups",
      kThin, g.in_c, g.groups);
}

framework::KernelWork ThinWork(const framework::KernelQuery& query) {
  return math::Conv2dThinWork(Conv2dGeometryOf(query),
                              platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d_grad_filter,
                   PLAIN,
                   CPUPlace,
                   thin,
                   KernelTraits().Estimate(&ThinWork).When(&ThinInput),
                   Conv2dThinGradFilterKernel<float>,
                   Conv2dThinGradFilterKernel<double>);

}  // namespace sluice::operators
