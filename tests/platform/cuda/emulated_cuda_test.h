#pragma once

#include "tests/platform/cuda/cuda_test.h"

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::testing {

// For features of the emulation. Its options are restored after each test.
class EmulatedCUDATest : public CUDATest {
 protected:
  EmulatedCUDATest() : options_(cuda_emulation::GetOptions()) {}
  ~EmulatedCUDATest() override {
    cuda_emulation::ClearFault();
    cuda_emulation::GetOptions() = options_;
  }

  const cuda_emulation::Options options_;
};

}  // namespace sluice::testing
