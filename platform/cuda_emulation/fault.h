#pragma once

#include <cuda_runtime.h>

namespace sluice::cuda_emulation {

// Thrown by Fault when work runs on the waiting thread's own stack.
struct FaultRaised {};

// Records the first fault of the device: its code and what happened, with the
// running kernel, block and thread. Then abandons the running work: throws
// FaultRaised, or gives up the whole grid. It does not allocate, so the signal
// handler may call it.
[[noreturn]] __attribute__((format(printf, 2, 3))) void Fault(
    cudaError_t code, const char* format, ...);

// Returns cudaSuccess when there is no fault.
cudaError_t CurrentFault();
const char* FaultText();
void ForgetFault();

// The work that runs now, for messages; thread < 0 outside of kernels.
struct Running {
  const char* name = nullptr;
  int thread = -1;
};
extern Running running;

}  // namespace sluice::cuda_emulation
