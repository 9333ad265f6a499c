#include "sluice/operators/conv/conv2d_work.h"

#include <algorithm>

#include "sluice/operators/conv/conv2d_depthwise.h"
#include "sluice/operators/conv/conv2d_pointwise.h"
#include "sluice/operators/conv/conv2d_rows.h"
#include "sluice/operators/conv/conv2d_thin.h"
#include "sluice/operators/conv/conv2d_winograd.h"
#include "sluice/operators/math/work.h"

namespace sluice {
namespace {

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
// each tile, and each short run of the input costs a function call. A single
// filter is computed as dot products.
void AddForwardLast(const Conv2dGeometry& g,
                    const GemmCounts& counts,
                    KernelWork* work) {
  const bool one = g.out_c == 1;
  work->costs = one ? "conv2d_one_filter" : "conv2d_last";
  work->flops = counts.flops * counts.Filled(one ? g.patch() : g.group_out_c());
  work->packed = counts.packed;
  work->patches = counts.patches;
  work->runs = counts.runs;
  if (!one) {
    work->tiles = counts.products * Ceil(counts.windows, 12) *
                  Ceil(g.group_out_c(), 2 * counts.lanes);
  }
  // Runs of a single element are not copied as vectors.
  if (g.groups > 1 && g.group_in_c() < 3) work->scalar_patches = counts.patches;
}

// With channels first, vectors hold windows.
void AddForwardFirst(const Conv2dGeometry& g,
                     const GemmCounts& counts,
                     KernelWork* work) {
  work->costs = "conv2d_first";
  work->flops = counts.flops * counts.Filled(counts.windows);
  work->patches = counts.patches;
  work->runs = counts.runs;
  work->products = counts.products;
  if (g.stride_w > 1) work->strided_patches = counts.patches;
  // Planes are packed for the product, once for 480 filters.
  if (g.pointwise() && g.group_out_c() >= 36) {
    work->packed = Real(g.input_size()) * Ceil(g.group_out_c(), 480);
  }
}

void AddGradInput(const Conv2dGeometry& g,
                  const GemmCounts& counts,
                  KernelWork* work) {
  work->patches = counts.patches;
  work->runs = counts.runs;
  if (!g.nhwc) {
    work->costs = "conv2d_grad_input_first";
    work->flops = counts.flops * counts.Filled(counts.windows);
    work->products = counts.products;
    // Patches without overlap are stored as vectors.
    if (g.stride_w > 1 && !counts.plan.once) {
      work->strided_patches = counts.patches;
    }
    return;
  }
  work->costs = "conv2d_grad_input_last";
  work->flops = counts.flops * counts.Filled(g.patch());
  work->packed = counts.packed;
  if (g.stride_w > 1) work->strided_patches = counts.patches;
  if (g.groups > 1) work->products = counts.products;
}

void AddGradFilter(const Conv2dGeometry& g,
                   const GemmCounts& counts,
                   KernelWork* work) {
  work->filters = Real(g.filter_size());
  work->patches = counts.patches;
  work->runs = counts.runs;
  if (!g.nhwc) {
    work->costs = "conv2d_grad_filter_first";
    work->flops = counts.flops *
                  (counts.Filled(counts.windows) + counts.Filled(g.patch())) /
                  2;
    work->products = counts.products;
    // Packing transposes the patches. With less than a panel it is not
    // vectorized.
    const bool vectors = g.patch() >= 2 * counts.lanes;
    (vectors ? work->packed : work->scalar_packed) =
        Real(g.n * g.out_pixels() * g.groups) * Real(g.patch());
    if (g.stride_w > 1) work->strided_patches = counts.patches;
    // The pixels of several images are gathered for one product.
    if (counts.plan.tiling.images > 1) work->outputs = Real(g.output_size());
    return;
  }
  work->costs =
      g.out_c == 1 ? "conv2d_grad_one_filter" : "conv2d_grad_filter_last";
  work->flops = counts.flops;
  work->packed = counts.packed;
  work->setups = 1;
  if (!g.pointwise()) work->inputs = Real(g.input_size());
  if (g.groups > 1 && g.group_in_c() < 4) work->scalar_patches = counts.patches;
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
  const auto size = static_cast<double>(element);
  switch (direction) {
    case Conv2dDirection::kForward:
      return size * (in + 2 * out + filter);
    case Conv2dDirection::kGradInput:
      return size * (2 * in + out + filter);
    default:
      return size * (in + out + 2 * filter);
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
  const auto size = static_cast<double>(element);
  const double in = size * Real(g.input_size());
  const double out = size * Real(g.output_size());
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
  work.loads = work.flops / filters;
  work.costs = one_tap ? "conv2d_rows_one_tap" : "conv2d_rows";
  work.bytes = Conv2dBytes(g, Conv2dDirection::kForward, element);
  // Bands are copied with their padding, element by element with a stride.
  work.rows = rows / filters;
  (g.stride_w > 1 ? work.strided_inputs : work.inputs) = Real(g.input_size());
  if (one_tap) {
    work.extra_bytes = static_cast<double>(element) * Real(g.input_size());
  }
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
    const double pixels = Real(g.n * g.out_pixels());
    if (forward) {
      const int64_t lanes = VectorLanes(element);
      work.costs = "conv2d_depthwise";
      work.flops *= Padded(g.out_c, lanes) / Real(g.out_c);
      work.vectors = pixels * Ceil(g.out_c, lanes);
      work.packed = taps * Real(g.out_c);
      work.max_threads = Real(g.n * g.out_h);
    } else if (grad_filter) {
      work.costs = "conv2d_depthwise_grad_filter";
      work.terms = taps * out;
      work.inputs = in;
    } else {
      work.costs = "conv2d_depthwise_grad_input";
      // Each tap of a window loads and stores the sums of 64 channels.
      work.vectors = taps * pixels * Ceil(g.out_c, 64);
      work.outputs = out;
      work.inputs = in;
    }
    return work;
  }
  work.costs = forward       ? "conv2d_direct"
               : grad_filter ? "conv2d_direct_grad_filter"
                             : "conv2d_direct_grad_input";
  if (g.nhwc) {
    work.terms = taps * out * Real(g.group_in_c());
    return work;
  }
  // Rows use vectors of 16 bytes; with strides, loops are not vectorized.
  const double rows = Real(g.n * g.out_c * g.out_h) * Real(g.patch());
  const double vectors = rows * Ceil(g.out_w, 4);
  work.rows = rows;
  if (!grad_filter) {
    work.vectors = vectors;
    if (g.stride_w > 1) work.strided_vectors = vectors;
  }
  if (!forward) work.inputs = in;
  return work;
}

KernelWork Conv2dThinWork(const Conv2dGeometry& g, size_t element) {
  KernelWork work;
  if (g.output_size() == 0 || g.patch() == 0) return work;
  const int64_t lanes = VectorLanes(element);
  work.flops = Conv2dFlops(g) * Padded(g.out_c, lanes) / Real(g.out_c);
  work.costs = "conv2d_thin";
  work.bytes = Conv2dBytes(g, Conv2dDirection::kGradFilter, element);
  work.runs = Real(g.n * g.out_pixels() * g.kernel_h);
  work.outputs = Real(g.output_size());
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
  work.costs = "conv2d_winograd";
  work.bytes = Conv2dBytes(g, Conv2dDirection::kForward, sizeof(float));
  // The transforms of pixels and products work on vectors.
  const double lanes = Real(VectorLanes(sizeof(float)));
  const double vectors =
      tiles *
      (Padded(g.in_c, VectorLanes(sizeof(float))) + Real(plan.out_row)) / lanes;
  work.vectors = points * vectors;
  // Transformed filters exceed the caches and evict the data of the next ops.
  work.extra_bytes = 2 * sizeof(float) * Real(plan.packed_size());
  if (constant_filter) {
    work.kept_bytes =
        sizeof(float) * Real(plan.packed_size() - g.filter_size());
  } else {
    work.packed = Real(plan.packed_size());
  }
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
  work.costs = "conv2d_pointwise";
  work.bytes = Conv2dBytes(g, Conv2dDirection::kForward, sizeof(float));
  if (!constant_filter) work.packed = Real(plan.packed_size());
  return work;
}

}  // namespace sluice
