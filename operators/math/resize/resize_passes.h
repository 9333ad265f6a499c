#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sluice/operators/math/resize/resize_axis.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// For each row of Out along one axis its taps: taps[begins[j]] up to
// taps[begins[j + 1]]. Those of weight 0 are left out.
struct ResizeTable {
  std::vector<int64_t> begins;
  std::vector<ResizeTap> taps;

  int64_t rows() const { return static_cast<int64_t>(begins.size()) - 1; }
};

SLUICE_API ResizeTable MakeResizeTable(const ResizeAxis& axis);
// The transpose, for the gradient: row i holds the rows of `table` that read
// element i of X, in their order.
SLUICE_API ResizeTable Transposed(const ResizeTable& table, int64_t in);

// Resizes a row-major tensor one axis after the other; axes that stay as they
// are cost nothing. Made once for each shape, immutable afterwards, so many
// threads may run one.
class SLUICE_API ResizePasses {
 public:
  ResizePasses() = default;
  // All axes, outermost first, none of them empty. `backward`: from the
  // gradient of Out to that of X.
  ResizePasses(std::span<const ResizeAxis> axes, bool backward);

  // What Run needs, in elements.
  int64_t scratch_elements() const { return scratch_[0] + scratch_[1]; }

  // Sums are made in `Value`, in an order that does not depend on the number
  // of threads: double, or float for T but double. T is a float. On
  // ParallelFor.
  template <typename T, typename Value>
  void Run(const T* from, Value* scratch, T* to) const;

 private:
  struct Pass {
    ResizeTable table;
    int64_t outer = 1;
    int64_t in = 1;
    int64_t inner = 1;
    double outside = 0;  // elements without taps
  };

  template <typename Value, typename From, typename To>
  static void RunPass(const Pass& pass, const From* from, To* to);

  std::vector<Pass> passes_;
  int64_t numel_ = 0;
  int64_t scratch_[2] = {0, 0};  // results of passes 0, 2, ... and 1, 3, ...
};

}  // namespace sluice::operators::math
