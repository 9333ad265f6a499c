#pragma once

#include <string>

#include "tests/testing/cuda_device.h"
#include <gtest/gtest.h>

// The shared parts of this program's tests. They work in both modes: a GPU can
// run many more rounds than the emulation, which runs one kernel at a time.
namespace sluice::testing {

inline constexpr CUDAPlace kGPU{0};
inline constexpr const char* kOnGPU = "*: require place=cuda:0";

// Skips the test without a device.
class EnduranceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = WhyNoCUDA();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

// The number of rounds on a GPU, and for the emulation in some seconds.
inline int Rounds(int on_gpu, int emulated) {
  return CUDAIsEmulated() ? emulated : on_gpu;
}

}  // namespace sluice::testing
