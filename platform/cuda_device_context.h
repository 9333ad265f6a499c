#pragma once

#include "sluice/platform/device_context.h"

namespace sluice::platform {

// The context of a CUDA device. In a build without CUDA there are none: the
// constructor raises Unimplemented and says what to do. The build chooses the
// source file; programs and kernels see this header either way.
class SLUICE_API CUDADeviceContext final : public DeviceContext {
 public:
  explicit CUDADeviceContext(CUDAPlace place);

  Place GetPlace() const override;
  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void CopyOnDevice(void* to, const void* from, size_t bytes) override;
  void Wait() override;

 private:
  CUDAPlace place_;
};

}  // namespace sluice::platform
