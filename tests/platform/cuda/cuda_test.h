#pragma once

#include "tests/platform/cuda/device_array.h"
#include "tests/platform/cuda/device_control.h"
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "sluice/platform/cuda_device_context.h"

namespace sluice::testing {

// A context of a GPU, or of the emulated device. Without a GPU the whole
// program is skipped (needs_device.cc).
class CUDATest : public ::testing::Test {
 protected:
  CUDATest() : context_(kPlace) {}
  ~CUDATest() override { RestoreDevice(); }

  static constexpr platform::CUDAPlace kPlace{0};

  platform::CUDADeviceContext context_;
};

}  // namespace sluice::testing
