#pragma once

#include "sluice/platform/device_context.h"

namespace Eigen {
struct DefaultDevice;
}  // namespace Eigen

namespace sluice {

// The host's context: work is done when the call returns, so Wait does nothing.
// It has no state; unlike other contexts, it may be used by several threads at
// once.
class SLUICE_API CPUDeviceContext final : public DeviceContext {
 public:
  CPUDeviceContext() = default;
  explicit CPUDeviceContext(CPUPlace) {}

  Place GetPlace() const override;
  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void CopyOnDevice(void* to, const void* from, size_t bytes) override;
  void Wait() override {}

  // For Eigen's device expressions: `out.device(context.eigen_device()) = ...`.
  // Include <unsupported/Eigen/CXX11/Tensor> to use it.
  const Eigen::DefaultDevice& eigen_device() const;
};

template <>
struct ContextOfEigen<Eigen::DefaultDevice> {
  using Type = CPUDeviceContext;
};

}  // namespace sluice
