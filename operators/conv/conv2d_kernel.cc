#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/math/conv/conv2d_gemm.h"
#include "sluice/operators/math/conv/conv2d_work.h"

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
                 T* input_grad,
                 void* scratch) const {
    const T* const no_bias = nullptr;
    Conv2dGemmGradInput(plan_, filter, grad, no_bias, input_grad, scratch);
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
                       Conv2dKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_grad_input,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradInput>>,
                       Conv2dGradInputKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_grad_filter,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradFilter>>,
                       Conv2dGradFilterKernel<GemmMethod, FloatTypes>);

}  // namespace sluice
