#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using platform::CUDADeviceContext;

template <typename T>
class FillConstantCUDAKernel final : public OpKernel {
 public:
  explicit FillConstantCUDAKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")) {
    const auto value = construction.Attr<double>("value");
    math::Cast(&value, 1, platform::kDTypeOf<T>, &value_);
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const T value = value_;
    platform::ForEach(context.device_context<CUDADeviceContext>(),
                      dims_.numel(),
                      [=] __device__(int64_t i) { out[i] = value; });
  }

 private:
  DDim dims_;
  T value_{};
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(fill_constant,
                        FillConstantCUDAKernel<float>,
                        FillConstantCUDAKernel<double>,
                        FillConstantCUDAKernel<platform::float16>,
                        FillConstantCUDAKernel<platform::bfloat16>,
                        FillConstantCUDAKernel<int8_t>,
                        FillConstantCUDAKernel<uint8_t>,
                        FillConstantCUDAKernel<int32_t>,
                        FillConstantCUDAKernel<int64_t>,
                        FillConstantCUDAKernel<bool>);

}  // namespace sluice::operators
