#pragma once

#include <string>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice::testing {

// Why there is no CUDA device, real or emulated; "" if there is one.
inline std::string WhyNoCUDA() {
  try {
    DeviceManager::Instance().Get(CUDAPlace{0});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Whether the device is emulated; there must be one.
inline bool CUDAIsEmulated() {
  return DeviceManager::Instance().Get(CUDAPlace{0}).is_emulated();
}

}  // namespace sluice::testing
