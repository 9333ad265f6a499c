#pragma once

namespace sluice::testing {

// Registers the op test_stray with a CUDA kernel: Out = X. While Stray() is
// true, the kernel writes to the invalid address 16, which loses the device.
void RegisterStrayOp();
bool& Stray();

}  // namespace sluice::testing
