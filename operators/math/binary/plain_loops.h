#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/plain_formulas.h"

// The loops of rows with plain formulas, for the .cc files of the tables.
namespace sluice {

template <class Row, typename T, bool kXSingle, bool kYSingle>
void PlainLoop(const void* x, const void* y, int64_t count, void* out) {
  using Result =
      std::conditional_t<Row::kInfo.result == BinaryResult::kBool, bool, T>;
  const T* left = static_cast<const T*>(x);
  const T* right = static_cast<const T*>(y);
  Result* to = static_cast<Result*>(out);
  const T one_left = *left;
  const T one_right = *right;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Result>(Row::Of(kXSingle ? one_left : left[i],
                                        kYSingle ? one_right : right[i]));
  }
}

template <class Row, typename... T>
void AddPlainLoops(BinaryRow* row) {
  ((row->Of<T>().forward = {&PlainLoop<Row, T, false, false>,
                            &PlainLoop<Row, T, true, false>,
                            &PlainLoop<Row, T, false, true>}),
   ...);
}

template <class Row>
BinaryRow MakePlainRow() {
  constexpr BinaryDTypes kDTypes = Row::kInfo.dtypes;
  constexpr bool kAll = kDTypes == BinaryDTypes::kAll;
  constexpr bool kNumbers = kAll || kDTypes == BinaryDTypes::kNumbers;
  BinaryRow row = {Row::kInfo, {}};
  if constexpr (kNumbers || kDTypes == BinaryDTypes::kFloats) {
    AddPlainLoops<Row, float, double>(&row);
  }
  if constexpr (kNumbers || kDTypes == BinaryDTypes::kIntegers) {
    AddPlainLoops<Row, int8_t, uint8_t, int32_t, int64_t, uint64_t>(&row);
  }
  if constexpr (kAll || kDTypes == BinaryDTypes::kBool) {
    AddPlainLoops<Row, bool>(&row);
  }
  return row;
}

template <class... Row>
void AddPlainRows(Rows<Row...> /*table*/, std::vector<BinaryRow>* rows) {
  (rows->push_back(MakePlainRow<Row>()), ...);
}

}  // namespace sluice
