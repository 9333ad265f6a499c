#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/export.h"

namespace sluice {

// The rows of a sparse gradient by the row of the parameter that they are added
// to.
struct MergedRows {
  std::vector<int64_t> rows;   // rows of the parameter, ascending, each once
  std::vector<int64_t> order;  // positions, ascending for each of the rows
  // Row rows[i] has the positions order[begins[i]] to order[begins[i + 1]].
  std::vector<int64_t> begins;

  std::span<const int64_t> PositionsOf(size_t i) const {
    const auto first = static_cast<size_t>(begins[i]);
    return std::span(order).subspan(first,
                                    static_cast<size_t>(begins[i + 1]) - first);
  }
};

// Merges rows 0 to `height` - 1; -1 is left out. Takes time in proportion to
// their number.
SLUICE_API MergedRows MergeRows(std::span<const int64_t> rows, int64_t height);

// Returns the position of the first row that is neither -1 nor 0 to `height` -
// 1; -1 if there is none.
SLUICE_API int64_t FindOutsideRow(std::span<const int64_t> rows,
                                  int64_t height);

// out[:] = the sum of x[p, :] over the positions p; x has rows of `width`
// numbers. There is at least one position. Up to 256 positions are added in
// their order; sums of more are those of both halves.
template <typename T>
SLUICE_API void SumRows(const T* x,
                        std::span<const int64_t> positions,
                        int64_t width,
                        Computed<T>* out);

// Whether a row of [0, height) comes so often, more than 512 times, that the
// plain sum of its terms loses digits: use AddRowSums. Rows of [-height, 0)
// count from the end. Index: int32_t or int64_t.
template <typename Index>
SLUICE_API bool RepeatsOften(std::span<const Index> rows, int64_t height);

// out[r, :] += the sum of x[i, :] over all i with rows[i] == r, as SumRows adds
// them up. Rows are -1, which is left out, or in [0, height). Through
// ParallelFor.
template <typename T>
SLUICE_API void AddRowSums(const T* x,
                           std::span<const int64_t> rows,
                           int64_t height,
                           int64_t width,
                           Computed<T>* out);

// The sums of all rows at once, in a table with the rows of the parameter: the
// same numbers as by MergeRows and SumRows, but that no sum is -0, and that
// rows of up to 512 terms are added in their order.
template <typename T>
class SLUICE_API RowSums {
 public:
  // `x` has a row of `width` numbers for each of `rows`, which are -1 or 0 to
  // `height` - 1.
  RowSums(std::span<const int64_t> rows,
          const T* x,
          int64_t height,
          int64_t width);

  // The rows that have a sum, ascending.
  std::span<const int64_t> rows() const { return rows_; }
  // [height, width]; other rows are 0.
  const T* data() const { return sums_.data(); }

 private:
  std::vector<T> sums_;
  std::vector<int64_t> rows_;
};

}  // namespace sluice
