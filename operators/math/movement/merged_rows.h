#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// The rows of a sparse gradient by the row of the parameter that they are added
// to.
struct MergedRows {
  std::vector<int64_t> rows;   // rows of the parameter, ascending, each once
  std::vector<int64_t> order;  // positions, ascending for each of the rows
  // Row rows[i] has the positions order[begins[i]] to order[begins[i + 1]].
  std::vector<int64_t> begins;
};

// Merges rows 0 to `height` - 1; -1 is left out. Takes time in proportion to
// their number.
SLUICE_API MergedRows MergeRows(std::span<const int64_t> rows, int64_t height);

// Returns the position of the first row that is neither -1 nor 0 to `height` -
// 1; -1 if there is none.
SLUICE_API int64_t FindOutsideRow(std::span<const int64_t> rows,
                                  int64_t height);

// out[:] = the sum of x[p, :] over the positions p, in this order; x has rows
// of `width` numbers. There is at least one position.
template <typename T>
SLUICE_API void SumRows(const T* x,
                        std::span<const int64_t> positions,
                        int64_t width,
                        T* out);

// The sums of all rows at once, in a table with the rows of the parameter: the
// same numbers as by MergeRows and SumRows, but that no sum is -0.
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
