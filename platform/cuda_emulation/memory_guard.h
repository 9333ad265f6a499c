#pragma once

namespace sluice::cuda_emulation {

// Installs the signal handler of DeviceMemory, once. It opens memory that the
// running work may use, makes other accesses a fault, and reports a host access
// before it ends the process.
void InstallMemoryGuard();

// While one exists, the calling thread runs device work.
class DeviceWork {
 public:
  explicit DeviceWork(const char* name);
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
};

}  // namespace sluice::cuda_emulation
