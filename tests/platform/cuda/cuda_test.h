#pragma once

#include <memory>
#include <string>

#include "tests/platform/cuda/device_array.h"
#include "tests/platform/cuda/device_control.h"
#include "tests/testing/cuda_device.h"
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "sluice/platform/cuda_device_context.h"

namespace sluice::testing {

// A context of a GPU, or of the emulated device. Without one, the test is
// skipped with the reason.
class CUDATest : public ::testing::Test {
 protected:
  static constexpr CUDAPlace kPlace{0};

  void SetUp() override {
    const std::string missing = WhyNoCUDA();
    if (!missing.empty()) GTEST_SKIP() << missing;
    context_ = std::make_unique<CUDADeviceContext>(kPlace);
  }
  ~CUDATest() override { RestoreDevice(); }

  CUDADeviceContext& context() { return *context_; }

 private:
  std::unique_ptr<CUDADeviceContext> context_;
};

}  // namespace sluice::testing
