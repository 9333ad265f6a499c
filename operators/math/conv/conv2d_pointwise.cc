#include "sluice/operators/math/conv/conv2d_pointwise.h"

#include <algorithm>

#include "sluice/operators/math/panels.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::math {
namespace {

// Rows whose outputs stay in the second cache until all columns are there.
constexpr int64_t kRows = 48;
// Filters that each thread may read for itself: of larger ones each thread
// takes a part, unless there are many rows to use them for.
constexpr int64_t kSharedBytes = int64_t{1} << 20;
constexpr int64_t kManyRows = 96;

// The first of `count` things in share `number` of `shares`, a multiple of
// `unit` from the start.
int64_t ShareBegin(int64_t count,
                   int64_t unit,
                   int64_t number,
                   int64_t shares) {
  const int64_t units = (count + unit - 1) / unit;
  return std::min(number * units / shares * unit, count);
}

}  // namespace

int64_t Conv2dPointwisePlan::packed_size() const {
  return g.in_c * PaddedColumns(g.out_c);
}

bool FitsConv2dPointwise(const Conv2dGeometry& g) {
  return g.nhwc && g.groups == 1 && g.kernel_h == 1 && g.kernel_w == 1 &&
         g.pad_top == 0 && g.pad_bottom == 0 && g.pad_left == 0 &&
         g.pad_right == 0;
}

Conv2dPointwisePlan PlanConv2dPointwise(const Conv2dGeometry& geometry,
                                        int num_threads) {
  Conv2dPointwisePlan plan;
  plan.g = geometry;
  if (geometry.pointwise()) {
    plan.run = geometry.n * geometry.out_pixels();
  } else {
    plan.runs = geometry.n * geometry.out_h;
    plan.run = geometry.out_w;
  }
  const int64_t threads = std::max(num_threads, 1);
  const int64_t rows = plan.runs * plan.run;
  const int64_t bytes =
      plan.packed_size() * static_cast<int64_t>(sizeof(float));
  const bool share_rows =
      rows >= threads * kManyRows ||
      (rows >= threads * kRows / 2 && bytes <= kSharedBytes);
  plan.blocks = std::max<int64_t>((plan.run + kRows / 2) / kRows, 1);
  if (share_rows) {
    // Equally many for each thread.
    if (plan.runs == 1) {
      plan.blocks = (plan.blocks + threads - 1) / threads * threads;
    }
  } else {
    const int64_t panels = PaddedColumns(geometry.out_c) / PanelColumns();
    plan.parts = std::clamp<int64_t>(threads, 1, std::max<int64_t>(panels, 1));
  }
  return plan;
}

void PackPointwiseFilter(const Conv2dPointwisePlan& plan,
                         const float* filter,
                         const double* factors,
                         float* packed) {
  const Conv2dGeometry& g = plan.g;
  platform::ParallelFor(PaddedColumns(g.out_c) / PanelColumns(), 1,
                        [&](int64_t begin, int64_t end) {
                          PackPanels(filter, g.in_c, g.out_c, factors, begin,
                                     end, packed);
                        });
}

void Conv2dPointwise(const Conv2dPointwisePlan& plan,
                     const float* input,
                     const float* packed,
                     const float* bias,
                     const OutputChain<float>& chain,
                     float* output) {
  const Conv2dGeometry& g = plan.g;
  const int64_t width = PanelColumns();
  const int64_t panels = PaddedColumns(g.out_c) / width;
  const auto run_unit = [&](int64_t unit) {
    const int64_t part = unit % plan.parts;
    const int64_t block = unit / plan.parts % plan.blocks;
    const int64_t run = unit / plan.parts / plan.blocks;
    const int64_t row =
        ShareBegin(plan.run, PanelRowsAtOnce(), block, plan.blocks);
    const int64_t rows =
        ShareBegin(plan.run, PanelRowsAtOnce(), block + 1, plan.blocks) - row;
    const int64_t first = part * panels / plan.parts;
    const int64_t last = (part + 1) * panels / plan.parts;
    // With several runs, one is a row of outputs.
    const int64_t pixel =
        plan.runs == 1
            ? row
            : (run / g.out_h * g.in_h + run % g.out_h * g.stride_h) * g.in_w +
                  row * g.stride_w;
    const int64_t out = (run * plan.run + row) * g.out_c;
    MultiplyPanels({.a = input + pixel * g.in_c,
                    .lda = g.in_c * g.stride_w,
                    .packed = packed,
                    .depth = g.in_c,
                    .start = bias,
                    .c = output + out,
                    .ldc = g.out_c,
                    .rows = rows,
                    .columns = g.out_c},
                   first, last);
    if (plan.parts == 1) return chain.Apply(out, rows * g.out_c, output);
    const int64_t column = first * width;
    const int64_t columns = std::min(last * width, g.out_c) - column;
    for (int64_t r = 0; r < rows; ++r) {
      chain.Apply(out + r * g.out_c + column, columns, output);
    }
  };
  platform::ParallelFor(plan.runs * plan.blocks * plan.parts, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t unit = begin; unit < end; ++unit) {
                            run_unit(unit);
                          }
                        });
}

}  // namespace sluice::operators::math
