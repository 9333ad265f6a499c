#include "sluice/operators/conv/conv2d_transpose_kernel.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/conv/conv2d_gemm.h"
#include "sluice/operators/math/conv/conv2d_work.h"
#include "sluice/operators/math/half_conversions.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::KernelQuery;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// float16 and bfloat16 are computed in float32, in scratch, and rounded once.
template <typename T>
class Conv2dTransposeKernel final : public OpKernel {
 public:
  using Value = math::Computed<T>;

  explicit Conv2dTransposeKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    if (dims_.numel() == 0) return;
    plan_ = math::PlanConv2dGemm(Conv2dTransposeGeometryOf(query),
                                 math::Conv2dDirection::kGradInput,
                                 sizeof(Value), preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(Value));
    if (!math::kIsHalf<T>) return;
    int64_t wide = dims_.numel();
    for (const framework::DDim& input : query.inputs) {
      wide += input.numel();
    }
    preparation.scratch_bytes += static_cast<size_t>(wide) * sizeof(Value);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const Tensor* bias =
        context.HasInput("Bias") ? &context.Input("Bias") : nullptr;
    Tensor& output = context.AllocateOutput("Output", dims_);
    if (output.numel() == 0) return;
    auto* scratch = static_cast<Value*>(context.scratch());
    if constexpr (math::kIsHalf<T>) {
      const auto widen = [&scratch](const Tensor& tensor) {
        float* const to = scratch;
        scratch += tensor.numel();
        math::Cast(tensor.data<T>(), tensor.numel(), platform::DType::kFloat32,
                   to);
        return to;
      };
      const float* const x = widen(input);
      const float* const w = widen(filter);
      const float* const b = bias == nullptr ? nullptr : widen(*bias);
      float* const out = scratch;
      math::Conv2dGemmGradInput(plan_, w, x, b, out, out + output.numel());
      math::Cast(out, output.numel(), platform::kDTypeOf<T>, output.data<T>());
    } else {
      math::Conv2dGemmGradInput(plan_, filter.data<T>(), input.data<T>(),
                                bias == nullptr ? nullptr : bias->data<T>(),
                                output.data<T>(), scratch);
    }
  }

 private:
  math::Conv2dGemmPlan plan_;
  framework::DDim dims_;
};

framework::KernelWork TransposeWork(const KernelQuery& query) {
  return math::Conv2dGemmWork(Conv2dTransposeGeometryOf(query),
                              math::Conv2dDirection::kGradInput,
                              platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d_transpose,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&TransposeWork),
                   Conv2dTransposeKernel<float>,
                   Conv2dTransposeKernel<double>,
                   Conv2dTransposeKernel<platform::float16>,
                   Conv2dTransposeKernel<platform::bfloat16>);

}  // namespace sluice::operators
