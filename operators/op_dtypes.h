#pragma once

#include <iterator>
#include <vector>

#include "sluice/platform/dtype.h"

// The sets of dtypes that most schemas use.
namespace sluice::operators {

// The dtypes of ops that only move elements.
inline std::vector<platform::DType> AllDTypes() {
  return {std::begin(platform::kAllDTypes), std::end(platform::kAllDTypes)};
}

// The dtypes of ops that compare elements: all but bool.
inline std::vector<platform::DType> NumericDTypes() {
  using platform::DType;
  return {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
          DType::kInt8,    DType::kUInt8,   DType::kInt32,   DType::kInt64};
}

// The dtypes of ops with gradients.
inline std::vector<platform::DType> FloatDTypes() {
  using platform::DType;
  return {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
}

// The dtypes of indices and offsets.
inline std::vector<platform::DType> IndexDTypes() {
  return {platform::DType::kInt32, platform::DType::kInt64};
}

}  // namespace sluice::operators
