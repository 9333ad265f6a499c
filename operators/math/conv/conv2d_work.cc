#include "sluice/operators/math/conv/conv2d_work.h"

#include <algorithm>

#include "sluice/operators/math/conv/conv2d_depthwise.h"
#include "sluice/operators/math/conv/conv2d_pointwise.h"
#include "sluice/operators/math/conv/conv2d_rows.h"
#include "sluice/operators/math/conv/conv2d_thin.h"
#include "sluice/operators/math/conv/conv2d_winograd.h"
#include "sluice/operators/math/work.h"

namespace sluice::operators::math {
namespace {

using framework::KernelWork;

double Real(int64_t value) {
  return static_cast<double>(value);
}

double Ceil(int64_t count, int64_t unit) {
  return Real((count + unit - 1) / unit);
}

// Plans are made for more threads than a machine has, to count their parts.
constexpr int kManyThreads = 1 << 20;

// The amounts of work of im2col and the products of one convolution.
struct GemmCounts {
  GemmCounts(const Conv2dGeometry& g, Conv2dDirection direction, size_t element)
      : plan(PlanConv2dGemm(g, direction, element, kManyThreads)),
        lanes(VectorLanes(element)),
        flops(Conv2dFlops(g)),
        windows(plan.tiling.windows()),
        products(Real(plan.tiling.count * g.groups)),
        patches(g.pointwise() ? 0
                              : Real(g.n * g.out_pixels()) * Real(g.in_c) *
                                    Real(g.kernel_h * g.kernel_w)),
        runs(patches / Real(std::max<int64_t>(
                           g.nhwc ? g.group_in_c() * g.kernel_w : g.out_w, 1))),
        packed(products * Real(g.patch() * g.group_out_c())) {}

  // Returns the ratio of padded to used vector elements for `size` elements.
  double Filled(int64_t size) const { return Padded(size, lanes) / Real(size); }

  Conv2dGemmPlan plan;
  int64_t lanes;
  double flops;
  int64_t windows;
  double products;
  double patches;  // elements of im2col
  double runs;     // contiguous copies of im2col
  double packed;   // packed filter elements, over all tiles
};

// With channels last, vectors hold output channels. The filter is packed for
// each tile, and each short run of the input costs a function call.
void AddForwardLast(const Conv2dGeometry& g,
                    const GemmCounts& counts,
                    KernelWork* work) {
  const bool row = g.out_c == 1;  // one column is computed as dot products
  const double tiles = counts.products * Ceil(counts.windows, 12) *
                       Ceil(g.group_out_c(), 2 * counts.lanes);
  work->flops = counts.flops * counts.Filled(row ? g.patch() : g.group_out_c());
  work->efficiency = 0.94;
  work->moves = 2 * counts.packed + 0.1 * counts.patches +
                (row ? 3.2 : 6.2) * counts.runs + (row ? 0 : 75) * tiles;
  // Runs of a single element are not copied as vectors.
  if (g.groups > 1 && g.group_in_c() < 3) work->moves += 2.5 * counts.patches;
}

// With channels first, vectors hold windows.
void AddForwardFirst(const Conv2dGeometry& g,
                     const GemmCounts& counts,
                     KernelWork* work) {
  work->flops = counts.flops * counts.Filled(counts.windows);
  work->efficiency = 0.91;
  work->moves =
      0.25 * counts.patches + 7.5 * counts.runs + 225 * counts.products;
  if (g.stride_w > 1) work->moves += 0.75 * counts.patches;
  // Planes are packed for the product, once for 480 filters.
  if (g.pointwise() && g.group_out_c() >= 36) {
    work->moves += 0.25 * Real(g.input_size()) * Ceil(g.group_out_c(), 480);
  }
}

void AddGradInput(const Conv2dGeometry& g,
                  const GemmCounts& counts,
                  KernelWork* work) {
  if (!g.nhwc) {
    work->flops = counts.flops * counts.Filled(counts.windows);
    work->efficiency = 0.925;
    work->moves =
        0.18 * counts.patches + 6.2 * counts.runs + 125 * counts.products;
    // Patches without overlap are stored as vectors.
    if (g.stride_w > 1 && !counts.plan.once) {
      work->moves += 0.68 * counts.patches;
    }
    return;
  }
  work->flops = counts.flops * counts.Filled(g.patch());
  work->efficiency = 0.95;
  work->moves = 2 * counts.packed + 0.3 * counts.patches + 7.5 * counts.runs;
  if (g.stride_w > 1) work->moves += 0.25 * counts.patches;
  if (g.groups > 1) work->moves += 1250 * counts.products;
}

void AddGradFilter(const Conv2dGeometry& g,
                   const GemmCounts& counts,
                   KernelWork* work) {
  const double filter = 1.75 * Real(g.filter_size());
  if (!g.nhwc) {
    work->flops = counts.flops *
                  (counts.Filled(counts.windows) + counts.Filled(g.patch())) /
                  2;
    work->efficiency = 0.8;
    // Packing transposes the patches. With less than a panel it is not
    // vectorized.
    const double pack = g.patch() < 2 * counts.lanes ? 0.62 : 0.25;
    work->moves =
        filter + 0.25 * counts.patches + 6.5 * counts.runs +
        375 * counts.products +
        pack * Real(g.n * g.out_pixels() * g.groups) * Real(g.patch());
    if (g.stride_w > 1) work->moves += 0.65 * counts.patches;
    // The pixels of several images are gathered for one product.
    if (counts.plan.tiling.images > 1) work->moves += Real(g.output_size());
    return;
  }
  work->flops = counts.flops;
  work->efficiency = 0.87;
  work->moves = filter + 0.25 * counts.packed + 0.12 * counts.patches +
                (g.out_c == 1 ? 3.2 : 6.2) * counts.runs + 7500;
  if (!g.pointwise()) work->moves += Real(g.input_size());
  if (g.groups > 1 && g.group_in_c() < 4) work->moves += 4.7 * counts.patches;
}

double Element(size_t element) {
  return static_cast<double>(element);
}

}  // namespace

double Conv2dFlops(const Conv2dGeometry& g) {
  return 2 * Real(g.output_size()) * Real(g.patch());
}

double Conv2dBytes(const Conv2dGeometry& g,
                   Conv2dDirection direction,
                   size_t element) {
  const double in = Real(g.input_size()), out = Real(g.output_size()),
               filter = Real(g.filter_size());
  switch (direction) {
    case Conv2dDirection::kForward:
      return Element(element) * (in + 2 * out + filter);
    case Conv2dDirection::kGradInput:
      return Element(element) * (2 * in + out + filter);
    default:
      return Element(element) * (in + out + 2 * filter);
  }
}

KernelWork Conv2dGemmWork(const Conv2dGeometry& g,
                          Conv2dDirection direction,
                          size_t element) {
  KernelWork work;
  if (g.output_size() == 0 || g.patch() == 0) return work;
  const GemmCounts counts(g, direction, element);
  work.bytes = Conv2dBytes(g, direction, element);
  work.max_threads = Real(counts.plan.slots);
  const double in = Element(element) * Real(g.input_size());
  const double out = Element(element) * Real(g.output_size());
  switch (direction) {
    case Conv2dDirection::kForward:
      if (g.nhwc) {
        AddForwardLast(g, counts, &work);
      } else {
        AddForwardFirst(g, counts, &work);
        // The rows of a panel are whole planes apart, so that the hardware does
        // not prefetch them.
        if (g.pointwise()) work.extra_bytes = in;
      }
      break;
    case Conv2dDirection::kGradInput:
      AddGradInput(g, counts, &work);
      if (!g.nhwc) work.extra_bytes = out + (g.pointwise() ? 2 * in : 0);
      break;
    default:
      AddGradFilter(g, counts, &work);
      break;
  }
  return work;
}

// A tile has up to six filters by vectors of windows. With fewer filters, loads
// take more of the time.
KernelWork Conv2dRowsWork(const Conv2dGeometry& g, size_t element) {
  KernelWork work;
  if (g.output_size() == 0 || g.patch() == 0) return work;
  const int64_t lanes = VectorLanes(element);
  const Conv2dRowsPlan plan = PlanConv2dRows(g, element, kManyThreads);
  const double filters = Real(std::min<int64_t>(g.group_out_c(), 6));
  const double rows = Real(g.n * g.out_c * g.out_h) * Real(g.patch());
  const bool one_tap = g.kernel_h * g.kernel_w == 1;
  work.flops = 2 * rows * Padded(g.out_w, lanes);
  work.efficiency = 1 / (0.56 + 3.2 / filters) / (one_tap ? 1.2 : 1);
  work.bytes = Conv2dBytes(g, Conv2dDirection::kForward, element);
  // Bands are copied with their padding, element by element with a stride.
  work.moves = 2.1 * rows / filters +
               (g.stride_w > 1 ? 1.6 : 0.25) * Real(g.input_size());
  if (one_tap) work.extra_bytes = Element(element) * Real(g.input_size());
  work.max_threads = Real(plan.slots);
  return work;
}

KernelWork Conv2dDirectWork(const Conv2dGeometry& g,
                            Conv2dDirection direction,
                            size_t element) {
  KernelWork work;
  work.flops = Conv2dFlops(g);
  work.bytes = Conv2dBytes(g, direction, element);
  // Each shard has about 65,000 products.
  work.max_threads = std::min(Real(std::max<int64_t>(g.n * g.out_c, 1)),
                              std::max(work.flops / 2 / 65536, 1.0));
  const double in = Real(g.input_size()), out = Real(g.output_size());
  const double taps = Real(g.kernel_h * g.kernel_w);
  const bool forward = direction == Conv2dDirection::kForward;
  const bool grad_filter = direction == Conv2dDirection::kGradFilter;
  if (IsDepthwiseLast(g)) {
    // Each tap of a window loads and stores the sums of 64 channels.
    const double windows = Real(g.n * g.out_pixels()) * Ceil(g.out_c, 64);
    const double vectors =
        Real(g.n * g.out_pixels()) * Ceil(g.out_c, VectorLanes(element));
    if (forward) {
      work.moves = 2.5 * taps * (vectors + windows) + 62 * windows;
    } else if (grad_filter) {
      work.moves = 0.3 * taps * out + 0.12 * in;
    } else {
      work.moves = 5 * taps * windows + out + 0.5 * in;
    }
    return work;
  }
  if (g.nhwc) {
    work.moves = (grad_filter ? 2 : 1.6) * taps * out * Real(g.group_in_c());
    return work;
  }
  // Rows use vectors of 16 bytes; with strides, loops are not vectorized.
  const double rows = Real(g.n * g.out_c * g.out_h) * Real(g.patch());
  const double vectors = rows * Ceil(g.out_w, 4);
  if (grad_filter) {
    work.moves = 16 * rows + 1.75 * in;
  } else {
    work.moves = (forward ? 4.2 * rows + 1.4 * vectors
                          : 4.8 * rows + 0.95 * vectors + 1.25 * in);
    if (g.stride_w > 1) work.moves += 0.55 * vectors;
  }
  return work;
}

KernelWork Conv2dThinWork(const Conv2dGeometry& g, size_t element) {
  KernelWork work;
  if (g.output_size() == 0 || g.patch() == 0) return work;
  const int64_t lanes = VectorLanes(element);
  work.flops = Conv2dFlops(g) * Padded(g.out_c, lanes) / Real(g.out_c);
  work.efficiency = 0.83;
  work.bytes = Conv2dBytes(g, Conv2dDirection::kGradFilter, element);
  work.moves = 1.5 * Real(g.n * g.out_pixels() * g.kernel_h) +
               0.12 * Real(g.output_size());
  work.max_threads = Real(PlanConv2dThin(g).parts);
  return work;
}

KernelWork Conv2dWinogradWork(const Conv2dGeometry& g,
                              int64_t m,
                              bool constant_filter) {
  KernelWork work;
  if (g.output_size() == 0 || g.patch() == 0) return work;
  const Conv2dWinogradPlan plan = PlanConv2dWinograd(g, m, kManyThreads);
  const auto points = Real(plan.points());
  const double tiles = Real(plan.tiles());
  work.flops = 2 * points * tiles * Real(g.in_c) * Real(plan.out_row);
  work.efficiency = 0.85;
  work.bytes = Conv2dBytes(g, Conv2dDirection::kForward, sizeof(float));
  // The transforms of pixels and products work on vectors.
  const double lanes = Real(VectorLanes(sizeof(float)));
  const double vectors =
      tiles *
      (Padded(g.in_c, VectorLanes(sizeof(float))) + Real(plan.out_row)) / lanes;
  work.moves = 3.5 * points * vectors;
  // Transformed filters exceed the caches and evict the data of the next ops.
  work.extra_bytes = 2 * sizeof(float) * Real(plan.packed_size());
  if (!constant_filter) work.moves += 3 * Real(plan.packed_size());
  work.max_threads = tiles;
  return work;
}

KernelWork Conv2dPointwiseWork(const Conv2dGeometry& g, bool constant_filter) {
  KernelWork work;
  if (g.output_size() == 0 || g.patch() == 0) return work;
  const Conv2dPointwisePlan plan = PlanConv2dPointwise(g, 1);
  const double rows = Real(plan.run * plan.runs);
  const double columns = Padded(g.group_out_c(), VectorLanes(sizeof(float)));
  work.flops = 2 * rows * Real(g.in_c) * columns;
  work.efficiency = 0.97;
  work.bytes = Conv2dBytes(g, Conv2dDirection::kForward, sizeof(float));
  if (!constant_filter) work.moves = 3 * Real(plan.packed_size());
  return work;
}

}  // namespace sluice::operators::math
