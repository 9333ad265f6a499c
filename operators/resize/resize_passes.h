#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/operators/resize/resize_axis.h"
#include "sluice/platform/export.h"

namespace sluice {

// The taps of each row of Out along one axis: taps[begins[j]] up to
// taps[begins[j + 1]]. Taps of weight 0 are omitted.
struct ResizeTable {
  std::vector<int64_t> begins;
  std::vector<ResizeTap> taps;

  int64_t rows() const { return static_cast<int64_t>(begins.size()) - 1; }
};

SLUICE_API ResizeTable MakeResizeTable(const ResizeAxis& axis);
// Returns the transpose, for the gradient: row i lists the rows of `table` that
// read element i of X, in order.
SLUICE_API ResizeTable Transposed(const ResizeTable& table, int64_t in);

// Resizes a row-major tensor along one axis after the other. Unchanged axes
// cost nothing. It is made once for each shape and immutable, so that many
// threads may run it.
class SLUICE_API ResizePasses {
 public:
  ResizePasses() = default;
  // `axes` has all axes, outermost first, none of them empty. `backward`
  // computes the gradient of X from that of Out.
  ResizePasses(std::span<const ResizeAxis> axes, bool backward);

  // The scratch that Run needs, in elements.
  int64_t scratch_elements() const { return scratch_[0] + scratch_[1]; }

  // Sums are in `Value`, which is double, or float unless T is double. Their
  // order does not depend on the number of threads. T is a float. Runs through
  // ParallelFor.
  template <typename T, typename Value>
  void Run(const T* from, Value* scratch, T* to) const;

 private:
  struct Pass {
    ResizeTable table;
    int64_t outer = 1;
    int64_t in = 1;
    int64_t inner = 1;
    double outside = 0;  // for elements without taps
  };

  template <typename Value, typename From, typename To>
  static void RunPass(const Pass& pass, const From* from, To* to);

  std::vector<Pass> passes_;
  int64_t numel_ = 0;
  int64_t scratch_[2] = {0, 0};  // results of even passes, of odd passes
};

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
