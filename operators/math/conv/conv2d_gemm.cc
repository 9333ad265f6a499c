#include "sluice/operators/math/conv/conv2d_gemm.h"

#include <algorithm>

#include "sluice/operators/math/conv/conv2d_tile.h"
#include "sluice/operators/math/conv/slots.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// A tile's patches fit into the second-level cache with the other matrices.
constexpr int64_t kTileBytes = int64_t{1} << 19;
constexpr int64_t kMinWindows = 64, kMaxWindows = 8192;
// A batch is split into kTiles tiles if these have kFullTile windows.
constexpr int64_t kTiles = 16, kFullTile = 256;
// Smaller planes are processed several images at a time, although their results
// have to be copied.
constexpr int64_t kWideEnough = 512;
// The maximum number of partial sums of the filter's gradient, and their bytes.
constexpr int64_t kMaxParts = kTiles, kPartBytes = int64_t{1} << 22;
// The minimum number of input channels of a thread. Threads then share no cache
// lines, and packing the output's gradient for each block costs little.
constexpr int64_t kBlockChannels = 16;

bool NeedsPacking(const Conv2dGeometry& g) {
  return g.nhwc && g.group_in_c() > 1 && g.kernel_h * g.kernel_w > 1;
}

int64_t WindowsOfATile(const Conv2dGeometry& g, int64_t element) {
  const int64_t patch = std::max<int64_t>(g.patch(), 1) * element;
  int64_t windows = std::clamp(kTileBytes / patch, kMinWindows, kMaxWindows);
  const int64_t share = (g.n * g.out_pixels() + kTiles - 1) / kTiles;
  windows = std::min(windows, std::max(share, kFullTile));
  if (g.nhwc) return windows;
  return std::min(windows, g.pointwise()
                               ? g.out_pixels()
                               : std::max(g.out_pixels(), kWideEnough));
}

// The layout of the scratch memory.
template <typename T>
struct Scratch {
  Scratch(const Conv2dGemmPlan& plan, void* memory)
      : plan(plan),
        filter(static_cast<T*>(memory)),
        partials(filter + plan.filter),
        slots(partials + plan.parts * plan.partial) {}

  Conv2dTileWorker<T> WorkerOf(int64_t slot, const T* filter_data) const {
    T* memory = slots + slot * (plan.patches + plan.pixels);
    return {plan.g, plan.filter > 0 ? filter : filter_data, memory,
            memory + plan.patches, plan.blocks};
  }

  const Conv2dGemmPlan& plan;
  T* filter;
  T* partials;
  T* slots;
};

// Packs OIHW as OHWI, the order of channels-last patches, separately for each
// block of input channels.
template <typename T>
void PackFilter(const Conv2dGemmPlan& plan, const T* filter, T* packed) {
  const Conv2dGeometry& g = plan.g;
  const int64_t blocks = plan.blocks, taps = g.kernel_h * g.kernel_w;
  const int64_t channels = g.group_in_c() / blocks;
  const int64_t grain = 1 + 16384 / (1 + g.patch());
  ParallelFor(g.out_c, grain, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin * blocks; block < end * blocks; ++block) {
      const T* from = filter + block * taps * channels;
      T* to = packed + block * taps * channels;
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < channels; ++c) {
          to[tap * channels + c] = from[c * taps + tap];
        }
      }
    }
  });
}

// Splits the input's channels for threads to share if there are few units.
void CutChannels(int64_t units, Conv2dGemmPlan* plan) {
  const Conv2dGeometry& g = plan->g;
  const int64_t few = (kTiles + units - 1) / std::max<int64_t>(units, 1);
  const int64_t wanted = std::min(few, g.in_c / kBlockChannels);
  const int64_t most = g.group_in_c() / kBlockChannels;
  for (int64_t blocks = 2; blocks <= most; ++blocks) {
    if (g.groups * plan->blocks >= wanted) break;
    if (g.group_in_c() % blocks == 0) plan->blocks = blocks;
  }
  plan->chunks = std::clamp<int64_t>(
      wanted, 1, std::max<int64_t>(g.groups, 1) * plan->blocks);
}

// Whether the windows cover the input exactly, without overlap.
bool IsMosaic(const Conv2dGeometry& g) {
  return !g.nhwc && !g.pointwise() && g.pad_top == 0 && g.pad_left == 0 &&
         g.kernel_h == g.stride_h && g.kernel_w == g.stride_w &&
         (g.kernel_h == 1 || g.dilation_h == 1) &&
         (g.kernel_w == 1 || g.dilation_w == 1) &&
         g.in_h == g.out_h * g.stride_h && g.in_w == g.out_w * g.stride_w;
}

// Returns the number of tiles in a unit of the input's gradient. If windows of
// an image overlap or leave gaps, one thread adds all tiles of the image.
int64_t TilesOfAUnit(const Conv2dGemmPlan& plan) {
  return plan.g.pointwise() || plan.once ? 1 : plan.tiling.per_image;
}

// Adds up the partial gradients and writes OIHW.
template <typename T>
void SumPartials(const Conv2dGemmPlan& plan, const T* partials, T* out) {
  const Conv2dGeometry& g = plan.g;
  const bool packed = NeedsPacking(g);
  const int64_t taps = packed ? g.kernel_h * g.kernel_w : 1;
  const int64_t size = g.patch(), channels = size / std::max<int64_t>(taps, 1);
  const int64_t parts = std::min(plan.parts, plan.tiling.count);
  const int64_t grain = 1 + 16384 / (1 + size * plan.parts);
  ParallelFor(g.out_c, grain, [=](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      T* to = out + o * size;
      std::fill(to, to + size, T{0});
      for (int64_t p = 0; p < parts; ++p) {
        const T* from = partials + (p * g.out_c + o) * size;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            to[c * taps + tap] += from[tap * channels + c];
          }
        }
      }
    }
  });
}

}  // namespace

Conv2dGemmPlan PlanConv2dGemm(const Conv2dGeometry& g,
                              Conv2dDirection direction,
                              size_t element,
                              int num_threads) {
  Conv2dGemmPlan plan;
  plan.g = g;
  const auto bytes = static_cast<int64_t>(element);
  plan.tiling = TileConv2d(g, WindowsOfATile(g, bytes));
  const int64_t windows = plan.tiling.windows();
  int64_t units = plan.tiling.count;
  if (direction == Conv2dDirection::kGradFilter) {
    plan.partial = g.filter_size();
    const int64_t all = std::max<int64_t>(plan.partial, 1) * bytes;
    plan.parts = std::clamp<int64_t>(kPartBytes / all, 1, kMaxParts);
    plan.parts = std::min(plan.parts, std::max<int64_t>(units, 1));
    units = plan.parts;
  } else {
    if (NeedsPacking(g)) plan.filter = g.filter_size();
    if (direction == Conv2dDirection::kGradInput) {
      plan.once = IsMosaic(g);
      units /= TilesOfAUnit(plan);
      CutChannels(units, &plan);
      units *= plan.chunks;
    }
  }
  plan.slots = std::clamp<int64_t>(num_threads, 1, std::max<int64_t>(units, 1));
  if (!g.pointwise()) plan.patches = windows * g.patch() / plan.blocks;
  if (!g.nhwc && plan.tiling.images > 1) {
    plan.pixels = windows * g.group_out_c();
  }
  return plan;
}

template <typename T>
void Conv2dGemm(const Conv2dGemmPlan& plan,
                const T* input,
                const T* filter,
                const T* bias,
                T* output,
                void* scratch) {
  const Conv2dGeometry& g = plan.g;
  const Scratch<T> parts(plan, scratch);
  if (plan.filter > 0) PackFilter(plan, filter, parts.filter);
  ForEachSlot(plan.slots, plan.tiling.count,
              [&](int64_t slot, int64_t begin, int64_t end) {
                Conv2dTileWorker<T> worker = parts.WorkerOf(slot, filter);
                for (int64_t t = begin; t < end; ++t) {
                  const Conv2dTile tile = TileAt(g, plan.tiling, t);
                  for (int64_t group = 0; group < g.groups; ++group) {
                    worker.Forward(tile, group, input, bias, output);
                  }
                }
              });
}

template <typename T>
void Conv2dGemmGradInput(const Conv2dGemmPlan& plan,
                         const T* filter,
                         const T* output_grad,
                         const T* bias,
                         T* input_grad,
                         void* scratch) {
  const Conv2dGeometry& g = plan.g;
  const Scratch<T> parts(plan, scratch);
  if (plan.filter > 0) PackFilter(plan, filter, parts.filter);
  const int64_t tiles = TilesOfAUnit(plan), blocks = g.groups * plan.blocks;
  ForEachSlot(plan.slots, plan.tiling.count / tiles * plan.chunks,
              [&](int64_t slot, int64_t begin, int64_t end) {
                Conv2dTileWorker<T> worker = parts.WorkerOf(slot, filter);
                for (int64_t unit = begin; unit < end; ++unit) {
                  const int64_t first_tile = unit / plan.chunks * tiles;
                  const int64_t chunk = unit % plan.chunks;
                  const int64_t first = chunk * blocks / plan.chunks;
                  const int64_t last = (chunk + 1) * blocks / plan.chunks;
                  for (int64_t t = first_tile; t < first_tile + tiles; ++t) {
                    const Conv2dTile tile = TileAt(g, plan.tiling, t);
                    if (t == first_tile && !g.pointwise() && !plan.once) {
                      worker.ResetInputGrad(tile, first, last - first, bias,
                                            input_grad);
                    }
                    for (int64_t block = first; block < last; ++block) {
                      worker.GradInput(tile, block, plan.once, output_grad,
                                       bias, input_grad);
                    }
                  }
                }
              });
}

template <typename T>
void Conv2dGemmGradFilter(const Conv2dGemmPlan& plan,
                          const T* input,
                          const T* output_grad,
                          T* filter_grad,
                          void* scratch) {
  const Conv2dGeometry& g = plan.g;
  const Scratch<T> parts(plan, scratch);
  const int64_t count = plan.tiling.count;
  ForEachSlot(
      plan.slots, plan.parts, [&](int64_t slot, int64_t begin, int64_t end) {
        Conv2dTileWorker<T> worker = parts.WorkerOf(slot, nullptr);
        for (int64_t part = begin; part < end; ++part) {
          const int64_t first = part * count / plan.parts;
          T* partial = parts.partials + part * plan.partial;
          for (int64_t t = first; t < (part + 1) * count / plan.parts; ++t) {
            const Conv2dTile tile = TileAt(g, plan.tiling, t);
            for (int64_t group = 0; group < g.groups; ++group) {
              worker.GradFilter(tile, group, input, output_grad, t > first,
                                partial);
            }
          }
        }
      });
  SumPartials(plan, parts.partials, filter_grad);
}

SLUICE_INSTANTIATE_FLOATS(Conv2dGemm);
SLUICE_INSTANTIATE_FLOATS(Conv2dGemmGradInput);
SLUICE_INSTANTIATE_FLOATS(Conv2dGemmGradFilter);

}  // namespace sluice
