#pragma once

#include "tests/platform/cuda/device_array.h"
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::testing {

// A context of the emulated device. Afterwards the device is as it was, also
// when the test lost it.
class CUDATest : public ::testing::Test {
 protected:
  CUDATest() : options_(cuda_emulation::GetOptions()), context_(kPlace) {}
  ~CUDATest() override {
    cuda_emulation::ClearFault();
    cuda_emulation::GetOptions() = options_;
  }

  static constexpr platform::CUDAPlace kPlace{0};

  // Runs `body` in each order that threads and blocks can have.
  template <typename Body>
  void InEveryOrder(const Body& body) {
    using cuda_emulation::ThreadOrder;
    for (const auto order : {ThreadOrder::kForward, ThreadOrder::kReverse,
                             ThreadOrder::kShuffle}) {
      cuda_emulation::GetOptions().order = order;
      body();
      cuda_emulation::ClearFault();
    }
  }

  const cuda_emulation::Options options_;
  platform::CUDADeviceContext context_;
};

}  // namespace sluice::testing
