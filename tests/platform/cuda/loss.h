#pragma once

// Tests that lose the device. A GPU is lost for the whole process, so there
// each of them runs in a process of its own:
//   TEST_F(CUDALossOfSomething, IsNoticed) {
//     if (testing::RanAlone()) return;
//     ... loses the device ...
//   }
// Their suites are named CUDALoss..., by which they can be chosen.
namespace sluice::testing {

// On a GPU: starts this program again for the current test alone, expects it
// to pass there in time, and returns true. In that process, and emulated, where
// the device can be restored: false.
bool RanAlone();

}  // namespace sluice::testing
