#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Loops over packed rows.
namespace sluice {

// Rows that offsets cut into sequences: sequence b has the rows from begin(b)
// to end(b). A view; valid as long as the offsets are.
struct Sequences {
  const int64_t* offsets = nullptr;
  int64_t count = 0;

  int64_t begin(int64_t b) const { return offsets[b]; }
  int64_t end(int64_t b) const { return offsets[b + 1]; }
  int64_t length(int64_t b) const { return end(b) - begin(b); }
  // The number of true rows; rows after them are padding.
  int64_t rows() const { return offsets[count]; }
};

// Rows of one size in bytes, in parts that follow each other: row r of part i
// has the number of rows of the parts before it, plus r.
struct RowParts {
  std::vector<const char*> data;
  std::vector<int64_t> ends;  // of each part, in rows
  size_t row_bytes = 0;

  const char* Row(int64_t row) const {
    size_t part = 0;
    while (row >= ends[part]) {
      ++part;
    }
    const int64_t first = part == 0 ? 0 : ends[part - 1];
    return data[part] + static_cast<size_t>(row - first) * row_bytes;
  }
};

// Sets row i of `out` to row index[i] of `from`, or to `fill` for -1.
void GatherRows(const RowParts& from,
                std::span<const int64_t> index,
                const void* fill,
                void* out);

// Adds row i of `from`, of `width` elements, to row index[i] of `to`, in the
// order of i; skips -1.
template <typename T>
void AddRowsTo(const T* from,
               std::span<const int64_t> index,
               int64_t width,
               T* to);

// Sets the rows from `first` on to the row before them, or to 0 if there is
// none: padding has values that some true row has, so that it makes no NaN.
void RepeatLastRow(void* rows, int64_t first, int64_t end, size_t row_bytes);

}  // namespace sluice
