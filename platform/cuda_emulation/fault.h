#pragma once

#include <cuda_runtime.h>

namespace sluice::cuda_emulation {

// Raised by Fault where work runs on the stack of the thread that waits.
struct FaultRaised {};

// Keeps the first fault of the device: its code and what happened, with the
// kernel, block and thread that run. Then leaves the running work for good:
// raises FaultRaised, or gives up the whole grid. Allocates nothing, so that
// the signal handler may call it.
[[noreturn]] __attribute__((format(printf, 2, 3))) void Fault(
    cudaError_t code, const char* format, ...);

// cudaSuccess when there is none.
cudaError_t CurrentFault();
const char* FaultText();
void ForgetFault();

// What runs at the moment, for messages; thread < 0 outside of kernels.
struct Running {
  const char* name = nullptr;
  int thread = -1;
};
extern Running running;

}  // namespace sluice::cuda_emulation
