#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice {

// For fewer bytes, a second thread costs more than it saves.
inline constexpr int64_t kCopyShardBytes = 128 << 10;

// Copies a box of elements between host buffers with different strides, for
// crop and transpose. It is constructed from the shape of the box and both
// strides in elements. Adjacent axes that are contiguous on both sides are
// merged. Immutable, so that many threads may run it.
class SLUICE_API StridedCopy {
 public:
  using Strides = std::array<int64_t, DDim::kMaxRank>;

  // Copies nothing.
  StridedCopy() = default;
  // `element_size` is 1, 2, 4 or 8 bytes. `sizes` must be known.
  StridedCopy(const DDim& sizes,
              const Strides& from_strides,
              const Strides& to_strides,
              size_t element_size);

  // Copies the box at `from` to the box at `to`; they must not overlap. Runs
  // through ParallelFor.
  void operator()(const void* from, void* to) const;

 private:
  struct Axis {
    int64_t size = 1;
    int64_t from = 0;  // bytes
    int64_t to = 0;
  };

  void Append(const Axis& axis);
  void ChooseTiles();
  void CopyRuns(const char* from, char* to, int64_t begin, int64_t end) const;
  template <typename Unit>
  void CopyTiles(const char* from, char* to, int64_t begin, int64_t end) const;

  // The loops around a run or a tile.
  std::array<Axis, DDim::kMaxRank> outer_;
  int outer_rank_ = 0;
  int64_t outer_count_ = 0;
  // If `contiguous_`, `column_` is a run contiguous on both sides. Otherwise
  // `row_` and `column_` form a tiled matrix; `column_` is contiguous at `to`.
  Axis row_;
  Axis column_;
  bool contiguous_ = true;
  size_t element_size_ = 1;
};

// Copies `bytes` between buffers that do not overlap, through ParallelFor.
SLUICE_API void CopyBytes(const void* from, void* to, size_t bytes);
// Sets `bytes` at `to` to 0, through ParallelFor.
SLUICE_API void FillZero(void* to, size_t bytes);

// Returns the strides of a row-major buffer of shape `dims`, in elements.
SLUICE_API StridedCopy::Strides RowMajorStrides(const DDim& dims);

}  // namespace sluice
