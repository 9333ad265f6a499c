#pragma once

#include <string>

#include "tests/testing/cuda_device.h"
#include <gtest/gtest.h>

// What the tests of this program share. They hold in both modes: on a GPU many
// more rounds are quick than in the emulation, which runs one kernel at a time.
namespace sluice::testing {

inline constexpr platform::CUDAPlace kGPU{0};
inline constexpr const char* kOnGPU = "*: require place=cuda:0";

// Skips where there is no device.
class EnduranceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = WhyNoCUDA();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

// Rounds on a GPU, and so many that the emulation is done in seconds.
inline int Rounds(int on_gpu, int emulated) {
  return CUDAIsEmulated() ? emulated : on_gpu;
}

}  // namespace sluice::testing
