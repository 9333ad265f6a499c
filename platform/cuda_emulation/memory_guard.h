#pragma once

namespace sluice::cuda_emulation {

// The signal handler behind DeviceMemory: opens what the running work may use,
// makes a fault of what it may not, and says which host access ends the
// process. Installed once.
void InstallMemoryGuard();

// While one lives, the calling thread runs work of the device.
class DeviceWork {
 public:
  explicit DeviceWork(const char* name);
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
};

}  // namespace sluice::cuda_emulation
