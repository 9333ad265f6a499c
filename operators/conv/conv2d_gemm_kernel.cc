#include "sluice/operators/conv/conv2d_gemm.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/conv_method.h"
#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class GemmMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection direction,
               size_t element) {
    plan_ = PlanConv2dGemm(Conv2dGeometryOf(preparation.query), direction,
                           element, preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    Conv2dGemm(plan_, input, filter, bias, output, scratch);
  }
  template <typename T>
  void GradInput(const T* filter,
                 const T* grad,
                 const T* bias,
                 T* input_grad,
                 void* scratch) const {
    Conv2dGemmGradInput(plan_, filter, grad, bias, input_grad, scratch);
  }
  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* scratch) const {
    Conv2dGemmGradFilter(plan_, input, grad, filter_grad, scratch);
  }

 private:
  Conv2dGemmPlan plan_;
};

template <Conv2dDirection kDirection>
KernelWork GemmWork(const KernelQuery& query) {
  return Conv2dGemmWork(Conv2dGeometryOf(query), kDirection,
                        SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_CPU_KERNEL(conv2d,
                       EstimatedBy<&GemmWork<Conv2dDirection::kForward>>,
                       ConvKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_grad_input,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradInput>>,
                       ConvGradInputKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_grad_filter,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradFilter>>,
                       ConvGradFilterKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_transpose,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradInput>>,
                       ConvGradInputKernel<GemmMethod, FloatsAndWidenedHalves>);

}  // namespace sluice
