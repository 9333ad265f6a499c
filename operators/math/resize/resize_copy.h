#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/operators/math/resize/resize_axis.h"
#include "sluice/platform/export.h"

namespace sluice {

// Resizes a row-major tensor to the nearest elements. Each row of Out is
// computed from a row of X, or copied from the previous row if both are equal.
// It is made once for each shape and immutable, so that many threads may run
// it.
class SLUICE_API ResizeCopy {
 public:
  ResizeCopy() = default;
  // `axes` has all axes, outermost first. None is empty. Their mode is
  // kNearest, and no axis uses kCropAndResize.
  explicit ResizeCopy(std::span<const ResizeAxis> axes);

  // An element has 1, 2, 4 or 8 bytes. Runs through ParallelFor.
  void Run(const void* x, size_t element_size, void* out) const;

 private:
  struct Axis {
    int64_t in = 1;
    int64_t out = 1;
    int64_t x_step = 1;  // stride of an index, in elements of X
    // Position j reads index j / repeats of X; if `repeats` is 0, index[j].
    int64_t repeats = 0;
    std::vector<int64_t> index;
  };

  void AddOuter(const ResizeAxis& axis);
  int64_t RowOf(int64_t row) const;
  template <typename Unit>
  void ExpandRow(const Unit* from, Unit* to) const;
  template <typename Unit>
  void CopyAs(const Unit* x, Unit* out) const;

  // The axes, innermost first: axes_[0] forms rows. An element of it is a block
  // of elements that are copied together.
  std::vector<Axis> axes_;
  int64_t block_ = 1;
  int64_t x_numel_ = 1;
  int64_t out_numel_ = 1;
};

}  // namespace sluice
