#include "sluice/operators/conv/conv2d_transpose_kernel.h"

#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/math/conv/conv2d_gemm.h"
#include "sluice/operators/math/conv/conv2d_work.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class Conv2dTransposeKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    if (dims_.numel() == 0) return;
    plan_ = PlanConv2dGemm(Conv2dTransposeGeometryOf(query),
                           Conv2dDirection::kGradInput, sizeof(T),
                           preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const Tensor* bias =
        context.HasInput("Bias") ? &context.Input("Bias") : nullptr;
    Tensor& output = context.AllocateOutput("Output", dims_);
    if (output.numel() == 0) return;
    Conv2dGemmGradInput(plan_, filter.data<T>(), input.data<T>(),
                        bias == nullptr ? nullptr : bias->data<T>(),
                        output.data<T>(), static_cast<T*>(context.scratch()));
  }

 private:
  Conv2dGemmPlan plan_;
  DDim dims_;
};

KernelWork TransposeWork(const KernelQuery& query) {
  return Conv2dGemmWork(Conv2dTransposeGeometryOf(query),
                        Conv2dDirection::kGradInput,
                        SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_CPU_KERNEL(conv2d_transpose,
                       EstimatedBy<&TransposeWork>,
                       Conv2dTransposeKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
