#include "sluice/platform/cpu_device_context.h"

#include <cstring>

#include <unsupported/Eigen/CXX11/Tensor>

namespace sluice {
namespace {

// Allows null pointers for 0 bytes; memcpy does not.
void CopyBytes(void* to, const void* from, size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace

Place CPUDeviceContext::GetPlace() const {
  return CPUPlace{};
}

void CPUDeviceContext::CopyFromHost(void* device,
                                    const void* host,
                                    size_t bytes) {
  CopyBytes(device, host, bytes);
}

void CPUDeviceContext::CopyToHost(void* host,
                                  const void* device,
                                  size_t bytes) {
  CopyBytes(host, device, bytes);
}

void CPUDeviceContext::CopyOnDevice(void* to, const void* from, size_t bytes) {
  CopyBytes(to, from, bytes);
}

const Eigen::DefaultDevice& CPUDeviceContext::eigen_device() const {
  static const Eigen::DefaultDevice kDevice;
  return kDevice;
}

}  // namespace sluice
