#include "sluice/operators/conv/conv2d_pointwise.h"

#include <algorithm>

#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/packed_conv2d_kernel.h"
#include "sluice/operators/conv/panels.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Rows of a block: its outputs stay in the second-level cache for all columns.
constexpr int64_t kRows = 48;
// Each thread may read filters of this size as a whole. Threads split larger
// ones, unless there are many rows to use them for.
constexpr int64_t kSharedBytes = int64_t{1} << 20;
constexpr int64_t kManyRows = 96;

// Returns the first of `count` items in share `number` of `shares`. It is a
// multiple of `unit`.
int64_t ShareBegin(int64_t count,
                   int64_t unit,
                   int64_t number,
                   int64_t shares) {
  const int64_t units = (count + unit - 1) / unit;
  return std::min(number * units / shares * unit, count);
}

}  // namespace

int64_t Conv2dPointwisePlan::panels() const {
  return PaddedColumns(g.group_out_c()) / PanelColumns();
}

int64_t Conv2dPointwisePlan::packed_size() const {
  return g.in_c * PaddedColumns(g.group_out_c());
}

bool FitsConv2dPointwise(const Conv2dGeometry& g) {
  return g.nhwc && g.kernel_h == 1 && g.kernel_w == 1 && g.pad_top == 0 &&
         g.pad_bottom == 0 && g.pad_left == 0 && g.pad_right == 0;
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
    // All threads get the same number of blocks.
    if (plan.runs == 1) {
      plan.blocks = (plan.blocks + threads - 1) / threads * threads;
    }
  } else {
    const int64_t panels = geometry.groups * plan.panels();
    plan.parts = std::clamp<int64_t>(threads, 1, std::max<int64_t>(panels, 1));
  }
  return plan;
}

void PackPointwiseFilter(const Conv2dPointwisePlan& plan,
                         const float* filter,
                         const double* factors,
                         float* packed) {
  const Conv2dGeometry& g = plan.g;
  const int64_t depth = g.group_in_c(), columns = g.group_out_c();
  const int64_t panels = plan.panels();
  ParallelFor(g.groups * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels, panel = i % panels;
      const double* factor =
          factors == nullptr ? nullptr : factors + group * columns;
      PackPanels(filter + group * columns * depth, depth, columns, factor,
                 panel, panel + 1,
                 packed + group * depth * PaddedColumns(columns));
    }
  });
}

namespace {

// Panels [first, last), numbered across groups, for some rows.
struct PointwiseUnit {
  int64_t first, last;
  int64_t rows;
  const float* input;  // the first row's
  int64_t output;      // offset of the first row
};

void Multiply(const Conv2dPointwisePlan& plan,
              const PointwiseUnit& unit,
              const float* packed,
              const float* bias,
              float* output) {
  const Conv2dGeometry& g = plan.g;
  const int64_t depth = g.group_in_c(), columns = g.group_out_c();
  const int64_t panels = plan.panels();
  for (int64_t panel = unit.first; panel < unit.last;) {
    const int64_t group = panel / panels;
    const int64_t end = std::min((group + 1) * panels, unit.last);
    MultiplyPanels({.a = unit.input + group * depth,
                    .lda = g.in_c * g.stride_w,
                    .packed = packed + group * depth * PaddedColumns(columns),
                    .depth = depth,
                    .start = bias == nullptr ? nullptr : bias + group * columns,
                    .c = output + unit.output + group * columns,
                    .ldc = g.out_c,
                    .rows = unit.rows,
                    .columns = columns},
                   panel - group * panels, end - group * panels);
    panel = end;
  }
}

// Returns the first column of a panel, which is numbered across groups.
int64_t ColumnOf(const Conv2dPointwisePlan& plan, int64_t panel) {
  const int64_t group = panel / plan.panels();
  const int64_t column = panel % plan.panels() * PanelColumns();
  return group * plan.g.group_out_c() + column;
}

}  // namespace

void Conv2dPointwise(const Conv2dPointwisePlan& plan,
                     const float* input,
                     const float* packed,
                     const float* bias,
                     const OutputChain<float>& chain,
                     float* output) {
  const Conv2dGeometry& g = plan.g;
  const int64_t panels = g.groups * plan.panels();
  const auto run_unit = [&](int64_t number) {
    const int64_t part = number % plan.parts;
    const int64_t block = number / plan.parts % plan.blocks;
    const int64_t run = number / plan.parts / plan.blocks;
    const int64_t row =
        ShareBegin(plan.run, PanelRowsAtOnce(), block, plan.blocks);
    const int64_t rows =
        ShareBegin(plan.run, PanelRowsAtOnce(), block + 1, plan.blocks) - row;
    // If there are several runs, each is a row of outputs.
    const int64_t top = run / g.out_h * g.in_h + run % g.out_h * g.stride_h;
    const int64_t pixel =
        plan.runs == 1 ? row : top * g.in_w + row * g.stride_w;
    const PointwiseUnit unit{
        part * panels / plan.parts, (part + 1) * panels / plan.parts, rows,
        input + pixel * g.in_c, (run * plan.run + row) * g.out_c};
    Multiply(plan, unit, packed, bias, output);
    if (plan.parts == 1) {
      return chain.Apply(unit.output, rows * g.out_c, output);
    }
    const int64_t column = ColumnOf(plan, unit.first);
    const int64_t columns = ColumnOf(plan, unit.last) - column;
    for (int64_t r = 0; r < rows; ++r) {
      chain.Apply(unit.output + r * g.out_c + column, columns, output);
    }
  };
  ParallelFor(plan.runs * plan.blocks * plan.parts, 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t unit = begin; unit < end; ++unit) {
                  run_unit(unit);
                }
              });
}

namespace {

struct Pointwise {
  using Plan = Conv2dPointwisePlan;

  static Plan MakePlan(const Conv2dGeometry& g, int num_threads) {
    return PlanConv2dPointwise(g, num_threads);
  }
  static std::string Name() { return "pointwise"; }
  static size_t ScratchBytes(const Plan& /*plan*/) { return 0; }
  static void Pack(const Plan& plan,
                   const float* filter,
                   const double* factors,
                   float* packed) {
    PackPointwiseFilter(plan, filter, factors, packed);
  }
  static void Run(const Plan& plan,
                  const float* input,
                  const PackedFilter& filter,
                  const float* bias,
                  const OutputChain<float>& chain,
                  float* output,
                  void* /*scratch*/) {
    Conv2dPointwise(plan, input, filter.packed, bias, chain, output);
  }
  static std::string Refusal(const KernelQuery& query) {
    const Conv2dGeometry g = Conv2dGeometryOf(query);
    if (FitsConv2dPointwise(g)) return "";
    return Format(
        "needs NHWC and filters of 1x1 without padding, got {}, {}x{}, padding "
        "{} {} {} {}",
        query.Attr<std::string>("data_format"), g.kernel_h, g.kernel_w,
        g.pad_top, g.pad_bottom, g.pad_left, g.pad_right);
  }
  static KernelWork Work(const KernelQuery& query) {
    return Conv2dPointwiseWork(Conv2dGeometryOf(query),
                               HasConstantFilter(query));
  }
};
using PointwiseKernel = PackedConv2dKernel<Pointwise, float>;

}  // namespace

REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, pointwise, KernelTraits(), PointwiseKernel);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, pointwise, KernelTraits(), PointwiseKernel);

}  // namespace sluice
