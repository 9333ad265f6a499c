#pragma once

namespace sluice::testing {

// Registers the op test_stray with a CUDA kernel: Out = X, but while Stray()
// is true the kernel writes to address 16, which is nobody's: the device is
// lost.
void RegisterStrayOp();
bool& Stray();

}  // namespace sluice::testing
