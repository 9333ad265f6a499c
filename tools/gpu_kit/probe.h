#pragma once

namespace sluice::gpu_kit {

// Opens cuda:0 and runs an op on it; prints what it found as one line of JSON:
//   {"usable", "device", "emulated", "memory_limit", "reason"}
// In a process of its own, since it may lose the device or hang. Returns the
// exit status: 0 where the device is usable.
int Probe();

}  // namespace sluice::gpu_kit
