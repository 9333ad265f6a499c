#pragma once

#include "sluice/platform/error.h"
#include "sluice/platform/place_key.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice::testing {

// A CUDA device that no machine has, and its error: CUDA is missing, or the
// index is too large.
inline constexpr CUDAPlace kMissingDevice{40};

struct Refusal {
  ErrorCode code;
  const char* check_id;
};

inline Refusal RefusalOfMissingDevice() {
  if (LoadModule("cuda").empty()) {
    return {ErrorCode::kNotFound, "device.index"};
  }
  return {ErrorCode::kUnimplemented, "device.no_cuda"};
}

}  // namespace sluice::testing
