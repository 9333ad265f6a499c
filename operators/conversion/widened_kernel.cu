#include "sluice/operators/conversion/widened_kernel.cuh"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
__global__ void WidenElements(const T* from, int64_t count, float* to) {
  for (int64_t i = ThreadIndex(); i < count; i += ThreadCount()) {
    to[i] = Widen(from[i]);
  }
}

template <typename T>
__global__ void NarrowElements(const float* from, int64_t count, T* to) {
  for (int64_t i = ThreadIndex(); i < count; i += ThreadCount()) {
    to[i] = Narrow<T>(from[i]);
  }
}

template <typename T>
void Convert(const OpKernelContext& call, const Tensor& from, Tensor* to) {
  const int64_t count = from.numel();
  if (count == 0) return;
  const LaunchConfig config = {call.device_context<CUDADeviceContext>(),
                               GridFor(count), dim3(kThreadsPerBlock)};
  if (from.dtype() == DType::kFloat32) {
    Launch<NarrowElements<T>>(config, from.data<float>(), count, to->data<T>());
  } else {
    Launch<WidenElements<T>>(config, from.data<T>(), count, to->data<float>());
  }
}

}  // namespace

void ConvertOnDevice(const OpKernelContext& call,
                     const Tensor& from,
                     Tensor* to) {
  const bool bfloat =
      from.dtype() == DType::kBFloat16 || to->dtype() == DType::kBFloat16;
  (bfloat ? &Convert<bfloat16> : &Convert<float16>)(call, from, to);
}

}  // namespace sluice
