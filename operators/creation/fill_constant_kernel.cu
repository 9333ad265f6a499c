#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
class FillConstantCUDAKernel final : public OpKernel {
 public:
  explicit FillConstantCUDAKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")) {
    const auto value = construction.Attr<double>("value");
    Cast(&value, 1, kDTypeOf<T>, &value_);
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

}  // namespace sluice
