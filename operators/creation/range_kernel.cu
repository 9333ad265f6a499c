#include "sluice/operators/creation/range.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
class RangeCUDAKernel final : public OpKernel {
 public:
  explicit RangeCUDAKernel(const OpKernelConstruction& construction)
      : elements_(construction.Attr<double>("start"),
                  construction.Attr<double>("step")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const RangeElements<T> elements = elements_;
    ForEach(
        context.device_context<CUDADeviceContext>(), dims_.numel(),
        [=] __device__(int64_t i) { out[i] = static_cast<T>(elements[i]); });
  }

 private:
  RangeElements<T> elements_;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(range,
                        RangeCUDAKernel<int64_t>,
                        RangeCUDAKernel<int32_t>,
                        RangeCUDAKernel<FloatTypes>);

}  // namespace sluice
