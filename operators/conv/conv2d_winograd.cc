#include "sluice/operators/conv/conv2d_winograd.h"

#include <algorithm>

#include "sluice/operators/conv/conv2d_winograd_tiles.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/packed_conv2d_kernel.h"
#include "sluice/operators/conv/panels.h"
#include "sluice/operators/conv/slots.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kTaps = 9;

// The arguments of one call.
struct Call {
  const Conv2dWinogradPlan& plan;
  const float* input;
  const PackedFilter& filter;
  const float* bias;
  const OutputChain<float>& chain;
  float* output;
};

// Writes the windows of `columns` outputs of one row of a tile as rows
// [in_c][3][3], the order of the filters.
void LayWindows(const Conv2dGeometry& g,
                const float* image,
                int64_t row,
                int64_t column,
                int64_t columns,
                float* windows) {
  for (int64_t x = 0; x < columns; ++x, windows += g.patch()) {
    for (int64_t tap = 0; tap < kTaps; ++tap) {
      const int64_t in_row = row + tap / 3 - g.pad_top;
      const int64_t in_column = column + x + tap % 3 - g.pad_left;
      const bool inside = in_row >= 0 && in_row < g.in_h && in_column >= 0 &&
                          in_column < g.in_w;
      const float* pixel = image + (in_row * g.in_w + in_column) * g.in_c;
      for (int64_t c = 0; c < g.in_c; ++c) {
        windows[c * kTaps + tap] = inside ? pixel[c] : 0;
      }
    }
  }
}

// Computes outputs of a row of a tile as direct sums over windows. `windows`
// has space for `columns` of them.
void SumWindows(const Call& call,
                const WinogradTile& tile,
                int64_t row,
                int64_t column,
                int64_t columns,
                float* windows) {
  const Conv2dGeometry& g = call.plan.g;
  const float* image = call.input + tile.image * g.in_pixels() * g.in_c;
  LayWindows(g, image, row, column, columns, windows);
  float* out =
      call.output + ((tile.image * g.out_h + row) * g.out_w + column) * g.out_c;
  Gemm<float>({.transpose_b = true,
               .m = columns,
               .n = g.out_c,
               .k = g.patch(),
               .a = windows,
               .lda = g.patch(),
               .b = call.filter.filter,
               .ldb = g.patch(),
               .c = out,
               .ldc = g.out_c});
  for (int64_t i = 0; i < columns * g.out_c; ++i) {
    const int64_t o = i % g.out_c;
    if (call.filter.factors != nullptr) {
      out[i] = static_cast<float>(out[i] * call.filter.factors[o]);
    }
    if (call.bias != nullptr) out[i] += call.bias[o];
  }
}

// Computes all outputs of a tile as direct sums. `windows` has space for `size`
// floats, at least one window.
void SumTile(const Call& call, int64_t number, float* windows, int64_t size) {
  const Conv2dGeometry& g = call.plan.g;
  const WinogradTile tile(call.plan, number);
  const int64_t bottom = std::min(tile.row + call.plan.m, g.out_h);
  const int64_t right = std::min(tile.column + call.plan.m, g.out_w);
  const int64_t at_once =
      std::max<int64_t>(size / std::max<int64_t>(g.patch(), 1), 1);
  for (int64_t row = tile.row; row < bottom; ++row) {
    for (int64_t column = tile.column; column < right; column += at_once) {
      SumWindows(call, tile, row, column, std::min(at_once, right - column),
                 windows);
    }
  }
}

void ApplyChain(const Call& call, int64_t number) {
  const Conv2dGeometry& g = call.plan.g;
  const WinogradTile tile(call.plan, number);
  const int64_t bottom = std::min(tile.row + call.plan.m, g.out_h);
  const int64_t columns = std::min(call.plan.m, g.out_w - tile.column);
  for (int64_t row = tile.row; row < bottom; ++row) {
    const int64_t pixel = (tile.image * g.out_h + row) * g.out_w + tile.column;
    call.chain.Apply(pixel * g.out_c, columns * g.out_c, call.output);
  }
}

// Computes tiles [first, first + count) of the plan on all threads.
void RunBlock(const Call& call, int64_t first, int64_t count, float* scratch) {
  const Conv2dWinogradPlan& plan = call.plan;
  float* pixels = scratch;
  float* products = scratch + plan.points() * plan.in_point();
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    WinogradPixels(plan, call.input, first, begin, end, pixels);
  });
  const int64_t panels = PaddedColumns(plan.g.out_c) / PanelColumns();
  const int64_t units = plan.points() * panels;
  ParallelFor(units, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end;) {
      const int64_t point = unit / panels;
      const int64_t next = std::min((point + 1) * panels, end);
      MultiplyPanels({.a = pixels + point * plan.in_point(),
                      .lda = plan.in_row,
                      .packed = call.filter.packed +
                                point * plan.g.in_c * panels * PanelColumns(),
                      .depth = plan.g.in_c,
                      .c = products + point * plan.out_point(),
                      .ldc = plan.out_row,
                      .rows = count,
                      .columns = plan.out_row},
                     unit - point * panels, next - point * panels);
      unit = next;
    }
  });
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      if (!WinogradOutputs(plan, products, call.bias, first, t, call.output)) {
        // The block's pixels are no longer needed: the tile's share of them is
        // large enough for a window.
        const int64_t share = plan.points() * plan.in_row;
        SumTile(call, first + t, pixels + t * share, share);
      }
      ApplyChain(call, first + t);
    }
  });
}

}  // namespace

int64_t Conv2dWinogradPlan::packed_size() const {
  return points() * g.in_c * PaddedColumns(g.out_c);
}

bool FitsConv2dWinograd(const Conv2dGeometry& g) {
  return g.nhwc && g.groups == 1 && g.kernel_h == 3 && g.kernel_w == 3 &&
         g.stride_h == 1 && g.stride_w == 1 && g.dilation_h == 1 &&
         g.dilation_w == 1;
}

Conv2dWinogradPlan PlanConv2dWinograd(const Conv2dGeometry& geometry,
                                      int64_t m,
                                      int num_threads) {
  Conv2dWinogradPlan plan;
  plan.g = geometry;
  plan.m = m;
  plan.tiles_h = (geometry.out_h + m - 1) / m;
  plan.tiles_w = (geometry.out_w + m - 1) / m;
  const auto padded = [](int64_t size, int64_t unit) {
    return (size + unit - 1) / unit * unit;
  };
  plan.in_row = padded(geometry.in_c, 16);
  plan.out_row = padded(geometry.out_c, VectorLanes(sizeof(float)));
  // The filters are read from memory for each block. Large blocks read them
  // less often; small blocks stay in the second-level cache.
  const int64_t many =
      geometry.in_c * geometry.out_c > int64_t{128} * 128 ? 48 : 24;
  const int64_t tiles = std::max<int64_t>(plan.tiles(), 1);
  plan.slots = tiles >= num_threads * many ? num_threads : 1;
  const int64_t share = (tiles + plan.slots - 1) / plan.slots;
  const int64_t blocks = std::max<int64_t>(share / many, 1);
  plan.block =
      std::min(share, padded((share + blocks - 1) / blocks, PanelRowsAtOnce()));
  return plan;
}

void PackWinogradFilter(const Conv2dWinogradPlan& plan,
                        const float* filter,
                        const double* factors,
                        float* packed) {
  ParallelFor(PaddedColumns(plan.g.out_c) / PanelColumns(), 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t panel = begin; panel < end; ++panel) {
                  PackWinogradPanel(plan, filter, factors, panel, packed);
                }
              });
}

void Conv2dWinograd(const Conv2dWinogradPlan& plan,
                    const float* input,
                    const PackedFilter& filter,
                    const float* bias,
                    const OutputChain<float>& chain,
                    float* output,
                    void* scratch) {
  const Call call{plan, input, filter, bias, chain, output};
  const int64_t slot_size =
      plan.points() * (plan.in_point() + plan.out_point());
  ForEachSlot(
      plan.slots, plan.tiles(), [&](int64_t slot, int64_t begin, int64_t end) {
        float* memory = static_cast<float*>(scratch) + slot * slot_size;
        for (int64_t first = begin; first < end; first += plan.block) {
          RunBlock(call, first, std::min(plan.block, end - first), memory);
        }
      });
}

namespace {

// A tile has `size` x `size` outputs.
template <int64_t size>
struct Winograd {
  using Plan = Conv2dWinogradPlan;

  static Plan MakePlan(const Conv2dGeometry& g, int num_threads) {
    return PlanConv2dWinograd(g, size, num_threads);
  }
  static std::string Name() { return Format("winograd {}x{}", size, size); }
  static size_t ScratchBytes(const Plan& plan) { return plan.scratch_bytes(); }
  static void Pack(const Plan& plan,
                   const float* filter,
                   const double* factors,
                   float* packed) {
    PackWinogradFilter(plan, filter, factors, packed);
  }
  static void Run(const Plan& plan,
                  const float* input,
                  const PackedFilter& filter,
                  const float* bias,
                  const OutputChain<float>& chain,
                  float* output,
                  void* scratch) {
    Conv2dWinograd(plan, input, filter, bias, chain, output, scratch);
  }
  static std::string Refusal(const KernelQuery& query) {
    const Conv2dGeometry g = Conv2dGeometryOf(query);
    if (FitsConv2dWinograd(g)) return "";
    return Format(
        "needs NHWC and filters of 3x3 without strides, dilations or groups, "
        "got {}, {}x{}, strides {}x{}, dilations {}x{}, {} groups",
        query.Attr<std::string>("data_format"), g.kernel_h, g.kernel_w,
        g.stride_h, g.stride_w, g.dilation_h, g.dilation_w, g.groups);
  }
  static KernelWork Work(const KernelQuery& query) {
    return Conv2dWinogradWork(Conv2dGeometryOf(query), size,
                              HasConstantFilter(query));
  }
};
using Winograd2 = PackedConv2dKernel<Winograd<2>, float>;
using Winograd4 = PackedConv2dKernel<Winograd<4>, float>;

}  // namespace

REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, winograd_2x2, KernelTraits(), Winograd2);
REGISTER_OP_KERNEL(
    conv2d, PLAIN, CPUPlace, winograd_4x4, KernelTraits(), Winograd4);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, winograd_2x2, KernelTraits(), Winograd2);
REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, winograd_4x4, KernelTraits(), Winograd4);

}  // namespace sluice
