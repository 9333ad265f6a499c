#pragma once

#include <string>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice::testing {

// Why there is no CUDA device, real or emulated, to run on; "" where there is
// one.
inline std::string WhyNoCUDA() {
  try {
    platform::DeviceManager::Instance().Get(platform::CUDAPlace{0});
    return "";
  } catch (const platform::Error& error) {
    return error.what();
  }
}

// Whether it is emulated; it must be there.
inline bool CUDAIsEmulated() {
  return platform::DeviceManager::Instance()
      .Get(platform::CUDAPlace{0})
      .is_emulated();
}

}  // namespace sluice::testing
