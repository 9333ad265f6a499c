#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
class FillConstantCUDAKernel final : public OpKernel {
 public:
  explicit FillConstantCUDAKernel(const OpKernelConstruction& construction) {
    const auto value = construction.Attr<double>("value");
    Cast(&value, 1, kDTypeOf<T>, &value_);
  }

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const T value = value_;
    ForEach(context.device_context<CUDADeviceContext>(), dims_.numel(),
            [=] __device__(int64_t i) { out[i] = value; });
  }

 private:
  DDim dims_;
  T value_{};
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(fill_constant,
                        FillConstantCUDAKernel<NumberAndBoolTypes>);
REGISTER_OP_CUDA_KERNEL(fill_any_like,
                        FillConstantCUDAKernel<NumberAndBoolTypes>);

}  // namespace sluice
