#include "sluice/operators/math/ragged/rows.h"

#include <algorithm>
#include <cstring>

#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {
constexpr int64_t kGrainBytes = 1 << 15;

int64_t GrainOf(size_t row_bytes) {
  return std::max<int64_t>(
      1, kGrainBytes / std::max<int64_t>(1, static_cast<int64_t>(row_bytes)));
}
}  // namespace

void GatherRows(const RowParts& from,
                std::span<const int64_t> index,
                const void* fill,
                void* out) {
  const size_t bytes = from.row_bytes;
  if (bytes == 0 || index.empty()) return;
  auto* const to = static_cast<char*>(out);
  ParallelFor(static_cast<int64_t>(index.size()), GrainOf(bytes),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const void* row = index[i] < 0 ? fill : from.Row(index[i]);
                  std::memcpy(to + static_cast<size_t>(i) * bytes, row, bytes);
                }
              });
}

// Threads share the columns, so that each sum has one order.
template <typename T>
void AddRowsTo(const T* from,
               std::span<const int64_t> index,
               int64_t width,
               T* to) {
  const auto rows = static_cast<int64_t>(index.size());
  const int64_t height =
      rows == 0 ? 0 : 1 + *std::max_element(index.begin(), index.end());
  if (height > 0 && RepeatsOften(index, height)) {
    return AddRowSums(from, index, height, width, to);
  }
  ParallelFor(width, GrainOf(sizeof(T) * index.size()),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = 0; i < rows; ++i) {
                  if (index[i] < 0) continue;
                  const T* row = from + i * width;
                  T* sum = to + index[i] * width;
                  for (int64_t c = begin; c < end; ++c) {
                    sum[c] += row[c];
                  }
                }
              });
}
template void AddRowsTo(const float*,
                        std::span<const int64_t>,
                        int64_t,
                        float*);
template void AddRowsTo(const double*,
                        std::span<const int64_t>,
                        int64_t,
                        double*);

void RepeatLastRow(void* rows, int64_t first, int64_t end, size_t row_bytes) {
  if (row_bytes == 0 || first >= end) return;
  auto* const at = static_cast<char*>(rows) + first * row_bytes;
  if (first == 0) {
    std::memset(at, 0, static_cast<size_t>(end) * row_bytes);
    return;
  }
  for (int64_t row = 0; row < end - first; ++row) {
    std::memcpy(at + row * row_bytes, at - row_bytes, row_bytes);
  }
}

}  // namespace sluice
