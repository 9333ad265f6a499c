#pragma once

#include <iterator>
#include <vector>

#include "sluice/platform/dtype_sets.h"

// The sets of dtypes that most schemas use, as lists.
namespace sluice::operators {

template <typename... T>
std::vector<platform::DType> ListOf(platform::DTypeSet<T...> /*set*/) {
  return {platform::kDTypeOf<T>...};
}

// The dtypes of ops that only move elements.
inline std::vector<platform::DType> AllDTypes() {
  return {std::begin(platform::kAllDTypes), std::end(platform::kAllDTypes)};
}

// The dtypes of ops that compare elements: all but bool.
inline std::vector<platform::DType> NumericDTypes() {
  return ListOf(platform::Numbers());
}

// The dtypes of ops with gradients.
inline std::vector<platform::DType> FloatDTypes() {
  return ListOf(platform::FloatsAndHalves());
}

// The dtypes of indices and offsets.
inline std::vector<platform::DType> IndexDTypes() {
  return ListOf(platform::Indices());
}

// Calls visit.operator()<Index>() for int32_t or int64_t, by the dtype.
template <typename Visit>
void VisitIndex(platform::DType dtype, const Visit& visit) {
  if (dtype == platform::DType::kInt32) {
    visit.template operator()<int32_t>();
  } else {
    visit.template operator()<int64_t>();
  }
}

}  // namespace sluice::operators
