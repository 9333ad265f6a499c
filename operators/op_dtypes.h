#pragma once

#include <iterator>
#include <vector>

#include "sluice/platform/dtype_sets.h"

// The sets of dtypes that most schemas use, as lists.
namespace sluice {

template <typename... T>
std::vector<DType> ListOf(DTypeSet<T...> /*set*/) {
  return {kDTypeOf<T>...};
}

// The dtypes of ops that only move elements.
inline std::vector<DType> AllDTypes() {
  return {std::begin(kAllDTypes), std::end(kAllDTypes)};
}

// The dtypes of ops that compare elements: all but bool.
inline std::vector<DType> NumericDTypes() {
  return ListOf(NumberTypes());
}

// The dtypes of ops with gradients.
inline std::vector<DType> FloatDTypes() {
  return ListOf(FloatAndHalfTypes());
}

// The dtypes of indices and offsets.
inline std::vector<DType> IndexDTypes() {
  return ListOf(IndexTypes());
}

// Calls visit.operator()<Index>() for int32_t or int64_t, by the dtype.
template <typename Visit>
void VisitIndex(DType dtype, const Visit& visit) {
  if (dtype == DType::kInt32) {
    visit.template operator()<int32_t>();
  } else {
    visit.template operator()<int64_t>();
  }
}

}  // namespace sluice
