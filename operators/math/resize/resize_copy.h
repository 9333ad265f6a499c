#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/operators/math/resize/resize_axis.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Resizes a row-major tensor to the nearest elements: each row of Out is
// written from a row of X, or copied from the row before it where that is the
// same. Made once for each shape, immutable afterwards, so many threads may run
// one.
class SLUICE_API ResizeCopy {
 public:
  ResizeCopy() = default;
  // All axes, outermost first, none of them empty, of mode kNearest and not
  // kCropAndResize.
  explicit ResizeCopy(std::span<const ResizeAxis> axes);

  // An element has 1, 2, 4 or 8 bytes. On ParallelFor.
  void Run(const void* x, size_t element_size, void* out) const;

 private:
  struct Axis {
    int64_t in = 1;
    int64_t out = 1;
    int64_t x_step = 1;  // elements of X from one index to the next
    // Position j of Out is index j / repeats of X; 0: it is index[j].
    int64_t repeats = 0;
    std::vector<int64_t> index;
  };

  void AddOuter(const ResizeAxis& axis);
  int64_t RowOf(int64_t row) const;
  template <typename Unit>
  void ExpandRow(const Unit* from, Unit* to) const;
  template <typename Unit>
  void CopyAs(const Unit* x, Unit* out) const;

  // Innermost first, so that axes_[0] makes rows; each element of it is a block
  // of elements that stay together.
  std::vector<Axis> axes_;
  int64_t block_ = 1;
  int64_t x_numel_ = 1;
  int64_t out_numel_ = 1;
};

}  // namespace sluice::operators::math
