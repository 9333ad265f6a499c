#include "sluice/platform/cuda_emulation/fault.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "sluice/platform/cuda_emulation/grid.h"

namespace sluice::cuda_emulation {

Running running;

namespace {

constexpr size_t kTextBytes = 2048;
cudaError_t fault_code = cudaSuccess;
char fault_text[kTextBytes];

size_t Append(size_t at, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

size_t Append(size_t at, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length =
      std::vsnprintf(fault_text + at, kTextBytes - at, format, arguments);
  va_end(arguments);
  return std::min(at + static_cast<size_t>(std::max(length, 0)),
                  kTextBytes - 1);
}

}  // namespace

void Fault(cudaError_t code, const char* format, ...) {
  fault_code = code;
  size_t at = 0;
  if (running.name != nullptr) at = Append(at, "%s", running.name);
  if (running.thread >= 0) {
    at = Append(at, ", block (%u, %u, %u), thread (%u, %u, %u)", blockIdx.x,
                blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  }
  if (at > 0) at = Append(at, ": ");
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(fault_text + at, kTextBytes - at, format, arguments);
  va_end(arguments);
  if (InGrid()) LeaveGrid();
  throw FaultRaised();
}

cudaError_t CurrentFault() {
  return fault_code;
}

const char* FaultText() {
  return fault_text;
}

void ForgetFault() {
  fault_code = cudaSuccess;
}

}  // namespace sluice::cuda_emulation
