#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Moves a box of elements between two host buffers that hold them in another
// order or spacing: the work of crop and transpose. Built once from the shape
// of the box and the distance, in elements, between neighbours along each axis;
// adjacent axes that both sides hold without a gap become one. Immutable
// afterwards, so many threads may run one.
class SLUICE_API StridedCopy {
 public:
  using Strides = std::array<int64_t, framework::DDim::kMaxRank>;

  // Nothing to copy.
  StridedCopy() = default;
  // `element_size` is 1, 2, 4 or 8 bytes. `sizes` must be known.
  StridedCopy(const framework::DDim& sizes,
              const Strides& from_strides,
              const Strides& to_strides,
              size_t element_size);

  // Copies the box whose first element is at `from` to the one at `to`; the two
  // must not overlap. Runs on ParallelFor.
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

  // The loops outside of a run or a tile.
  std::array<Axis, framework::DDim::kMaxRank> outer_;
  int outer_rank_ = 0;
  int64_t outer_count_ = 0;
  // One run: `column_` contiguous on both sides (`row_` is unused), or a matrix
  // that is copied tile by tile: `column_` contiguous at `to`.
  Axis row_;
  Axis column_;
  bool contiguous_ = true;
  size_t element_size_ = 1;
};

// Copies `bytes` between buffers that do not overlap, on ParallelFor.
SLUICE_API void CopyBytes(const void* from, void* to, size_t bytes);
// Sets `bytes` at `to` to 0, on ParallelFor.
SLUICE_API void FillZero(void* to, size_t bytes);

// The strides of a row-major buffer of shape `dims`, in elements.
SLUICE_API StridedCopy::Strides RowMajorStrides(const framework::DDim& dims);

}  // namespace sluice::operators::math
