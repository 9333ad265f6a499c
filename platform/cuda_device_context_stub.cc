#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/error.h"

namespace sluice::platform {
namespace {

[[noreturn]] void RaiseNotBuilt(CUDAPlace place) {
  Raise(ErrorCode::kUnimplemented, "cuda_device_context.not_built",
        "CUDADeviceContext {}: this build has no CUDA; build Sluice with "
        "SLUICE_CUDA=ON and a CUDA toolkit, or use the CPU",
        PlaceKey(place));
}

}  // namespace

CUDADeviceContext::CUDADeviceContext(CUDAPlace place) : place_(place) {
  RaiseNotBuilt(place_);
}

Place CUDADeviceContext::GetPlace() const {
  return place_;
}

void CUDADeviceContext::CopyFromHost(void*, const void*, size_t) {
  RaiseNotBuilt(place_);
}

void CUDADeviceContext::CopyToHost(void*, const void*, size_t) {
  RaiseNotBuilt(place_);
}

void CUDADeviceContext::CopyOnDevice(void*, const void*, size_t) {
  RaiseNotBuilt(place_);
}

void CUDADeviceContext::Wait() {
  RaiseNotBuilt(place_);
}

}  // namespace sluice::platform
