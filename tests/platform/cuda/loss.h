#pragma once

// Tests that lose the device. A GPU is lost for the whole process, so each test
// runs in its own process there:
//   TEST_F(CUDALossOfSomething, IsNoticed) {
//     if (testing::RanAlone()) return;
//     ... loses the device ...
//   }
// Their suites are named CUDALoss..., by which they can be chosen.
namespace sluice::testing {

// On a GPU, runs only the current test in a new process of this program,
// expects it to pass in time, and returns true. In that process, and in the
// emulation, where the device can be restored, returns false.
bool RanAlone();

}  // namespace sluice::testing
