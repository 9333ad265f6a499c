#include "sluice/operators/conv/conv2d_gemm.h"

#include <algorithm>

#include "sluice/operators/conv/slots.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Returns the first input element of a tile and a group of channels, for
// pointwise convolutions.
template <typename T>
T* Conv2dInputAt(const Conv2dGeometry& g,
                 const Conv2dTile& tile,
                 int64_t group,
                 T* input) {
  const int64_t pixel = tile.row * g.in_w + tile.column;
  const int64_t channel = group * g.group_in_c();
  if (g.nhwc) {
    return input + (tile.image * g.in_pixels() + pixel) * g.in_c + channel;
  }
  return input + (tile.image * g.in_c + channel) * g.in_pixels() + pixel;
}

// Returns the first output element of a tile and a group of channels.
template <typename T>
T* Conv2dOutputAt(const Conv2dGeometry& g,
                  const Conv2dTile& tile,
                  int64_t group,
                  T* output) {
  const int64_t pixel = tile.row * g.out_w + tile.column;
  const int64_t channel = group * g.group_out_c();
  if (g.nhwc) {
    return output + (tile.image * g.out_pixels() + pixel) * g.out_c + channel;
  }
  return output + (tile.image * g.out_c + channel) * g.out_pixels() + pixel;
}

// Computes the matrix products for one tile and one group of channels. Used by
// one thread at a time; the caller owns the memory.
template <typename T>
class Conv2dTileWorker {
 public:
  // `filter` is in the order of the patches: OIHW, or OHWI for NHWC. `patches`
  // holds the input patches of a tile; a pointwise convolution does not need
  // it. `pixels` holds the output of a tile; only NCHW tiles of several images
  // need it. For GradInput, each group's input channels are split into `blocks`
  // blocks, and the filter is ordered within each block.
  Conv2dTileWorker(const Conv2dGeometry& g,
                   const T* filter,
                   T* patches,
                   T* pixels,
                   int64_t blocks = 1)
      : g_(g),
        split_(g),
        blocks_(blocks),
        filter_(filter),
        patches_(patches),
        pixels_(pixels) {
    split_.groups *= blocks;
  }

  // Sets the output's windows to bias (nullptr: 0) + the convolution.
  void Forward(const Conv2dTile& tile,
               int64_t group,
               const T* input,
               const T* bias,
               T* output) {
    const Matrix<const T> patches = Patches(tile, group, input);
    const int64_t windows = tile.windows();
    if (bias != nullptr) bias += group * g_.group_out_c();
    T* out = Conv2dOutputAt(g_, tile, group, output);
    if (g_.nhwc) {
      if (bias != nullptr) {
        FillRows(windows, g_.group_out_c(), g_.out_c, bias, out);
      }
      Gemm<T>({.transpose_a = patches.transposed,
               .transpose_b = true,
               .m = windows,
               .n = g_.group_out_c(),
               .k = g_.patch(),
               .a = patches.data,
               .lda = patches.stride,
               .b = FilterOf(group),
               .ldb = g_.patch(),
               .beta = bias != nullptr ? T{1} : T{0},
               .c = out,
               .ldc = g_.out_c});
      return;
    }
    const bool direct = tile.images == 1;
    if (direct && bias != nullptr) {
      FillPlanes(g_.group_out_c(), windows, g_.out_pixels(), bias, out);
    }
    Gemm<T>({.m = g_.group_out_c(),
             .n = windows,
             .k = g_.patch(),
             .a = FilterOf(group),
             .lda = g_.patch(),
             .b = patches.data,
             .ldb = patches.stride,
             .beta = direct && bias != nullptr ? T{1} : T{0},
             .c = direct ? out : pixels_,
             .ldc = direct ? g_.out_pixels() : windows});
    if (!direct) SpreadPixels(tile, bias, out);
  }

  // Sets blocks [first, first + count) of the input's gradient to the bias of
  // their channels (nullptr: 0), in all images of a tile.
  void ResetInputGrad(const Conv2dTile& tile,
                      int64_t first,
                      int64_t count,
                      const T* bias,
                      T* input_grad) const {
    const int64_t pixels = g_.in_pixels();
    const int64_t channel = first * split_.group_in_c();
    const int64_t channels = count * split_.group_in_c();
    T* to = input_grad + tile.image * g_.in_c * pixels;
    if (bias != nullptr) bias += channel;
    if (g_.nhwc) {
      FillRows(tile.images * pixels, channels, g_.in_c, bias, to + channel);
      return;
    }
    for (int64_t i = 0; i < tile.images; ++i) {
      FillPlanes(channels, pixels, pixels, bias,
                 to + (i * g_.in_c + channel) * pixels);
    }
  }

  // Adds to the input's gradient in one block of channels, numbered across
  // groups. If the convolution is pointwise or its patches tile the input
  // (`mosaic`), sets it to bias (nullptr: 0) plus the sum instead.
  void GradInput(const Conv2dTile& tile,
                 int64_t block,
                 bool mosaic,
                 const T* output_grad,
                 const T* bias,
                 T* input_grad) {
    if (bias != nullptr) bias += block * split_.group_in_c();
    if (g_.pointwise()) {
      T* to = Conv2dInputAt(split_, tile, block, input_grad);
      const int64_t windows = tile.windows(), channels = split_.group_in_c();
      if (bias != nullptr && g_.nhwc) {
        FillRows(windows, channels, g_.in_c, bias, to);
      } else if (bias != nullptr) {
        FillPlanes(channels, windows, g_.in_pixels(), bias, to);
      }
      return GradPatches(tile, block, output_grad, bias != nullptr,
                         g_.nhwc ? g_.in_c : g_.in_pixels(), to);
    }
    const bool columns = WindowsLast(split_);
    GradPatches(tile, block, output_grad, false,
                columns ? tile.windows() : split_.patch(), patches_);
    if (mosaic) {
      LayPatches(split_, tile, block, patches_, bias, input_grad);
    } else {
      Col2Im(split_, tile, block, patches_, input_grad);
    }
  }

  // partial (channels in patch order) = or, if `add`, += the tile's gradient.
  void GradFilter(const Conv2dTile& tile,
                  int64_t group,
                  const T* input,
                  const T* output_grad,
                  bool add,
                  T* partial) {
    const Matrix<const T> patches = Patches(tile, group, input);
    const Matrix<const T> grad = Pixels(tile, group, output_grad);
    Gemm<T>({.transpose_a = !grad.transposed,
             .transpose_b = patches.transposed,
             .m = g_.group_out_c(),
             .n = g_.patch(),
             .k = tile.windows(),
             .a = grad.data,
             .lda = grad.stride,
             .b = patches.data,
             .ldb = patches.stride,
             .beta = add ? T{1} : T{0},
             .c = partial + group * g_.group_out_c() * g_.patch(),
             .ldc = g_.patch()});
  }

 private:
  // A matrix with a row for each window; if transposed, windows are columns.
  template <typename E>
  struct Matrix {
    E* data;
    int64_t stride;
    bool transposed;
  };

  // patches = or, if `add`, += one block's transposed filter times the output's
  // gradient. Windows are columns if WindowsLast, otherwise rows, of `stride`.
  void GradPatches(const Conv2dTile& tile,
                   int64_t block,
                   const T* output_grad,
                   bool add,
                   int64_t stride,
                   T* patches) {
    const int64_t windows = tile.windows(), patch = split_.patch();
    const int64_t group = block / blocks_;
    const Matrix<const T> grad = Pixels(tile, group, output_grad);
    const T* filter = FilterOf(group) + block % blocks_ * patch;
    const T beta = add ? T{1} : T{0};
    const bool columns = g_.pointwise() ? !g_.nhwc : WindowsLast(split_);
    if (!columns) {
      Gemm<T>({.m = windows,
               .n = patch,
               .k = g_.group_out_c(),
               .a = grad.data,
               .lda = grad.stride,
               .b = filter,
               .ldb = g_.patch(),
               .beta = beta,
               .c = patches,
               .ldc = stride});
      return;
    }
    Gemm<T>({.transpose_a = true,
             .transpose_b = !grad.transposed,
             .m = patch,
             .n = windows,
             .k = g_.group_out_c(),
             .a = filter,
             .lda = g_.patch(),
             .b = grad.data,
             .ldb = grad.stride,
             .beta = beta,
             .c = patches,
             .ldc = stride});
  }

  const T* FilterOf(int64_t group) const {
    return filter_ + group * g_.group_out_c() * g_.patch();
  }

  Matrix<const T> Patches(const Conv2dTile& tile,
                          int64_t group,
                          const T* input) {
    if (g_.pointwise()) {
      return {Conv2dInputAt(g_, tile, group, input),
              g_.nhwc ? g_.in_c : g_.in_pixels(), !g_.nhwc};
    }
    Im2Col(g_, tile, group, input, patches_);
    const bool columns = WindowsLast(g_);
    return {patches_, columns ? tile.windows() : g_.patch(), columns};
  }

  // Returns one group of channels of a tile of the output's gradient.
  Matrix<const T> Pixels(const Conv2dTile& tile,
                         int64_t group,
                         const T* output_grad) {
    const T* from = Conv2dOutputAt(g_, tile, group, output_grad);
    if (g_.nhwc) return {from, g_.out_c, false};
    if (tile.images == 1) return {from, g_.out_pixels(), true};
    const int64_t pixels = g_.out_pixels();
    for (int64_t o = 0; o < g_.group_out_c(); ++o) {
      for (int64_t i = 0; i < tile.images; ++i) {
        const T* plane = from + (i * g_.out_c + o) * pixels;
        std::copy(plane, plane + pixels,
                  pixels_ + o * tile.windows() + i * pixels);
      }
    }
    return {pixels_, tile.windows(), true};
  }

  // Sets `rows` rows of `channels` elements to the bias (nullptr: 0); rows have
  // a stride of `stride` elements.
  static void FillRows(
      int64_t rows, int64_t channels, int64_t stride, const T* bias, T* out) {
    if (bias == nullptr && channels == stride) {
      std::fill(out, out + rows * channels, T{0});
      return;
    }
    if (channels < stride) {
      for (int64_t row = 0; row < rows; ++row) {
        T* to = out + row * stride;
        if (bias == nullptr) {
          std::fill(to, to + channels, T{0});
        } else {
          std::copy(bias, bias + channels, to);
        }
      }
      return;
    }
    std::copy(bias, bias + (rows > 0 ? channels : 0), out);
    for (int64_t done = 1; done < rows; done *= 2) {
      const int64_t more = std::min(done, rows - done);
      std::copy(out, out + more * channels, out + done * channels);
    }
  }
  // Sets the first `count` elements of each plane to its bias (nullptr: 0).
  static void FillPlanes(
      int64_t channels, int64_t count, int64_t stride, const T* bias, T* out) {
    for (int64_t c = 0; c < channels; ++c) {
      T* plane = out + c * stride;
      std::fill(plane, plane + count, bias == nullptr ? T{0} : bias[c]);
    }
  }
  // Copies the planes of several images from pixels_ and adds the bias.
  void SpreadPixels(const Conv2dTile& tile, const T* bias, T* out) const {
    const int64_t pixels = g_.out_pixels();
    for (int64_t i = 0; i < tile.images; ++i) {
      for (int64_t o = 0; o < g_.group_out_c(); ++o) {
        const T* from = pixels_ + o * tile.windows() + i * pixels;
        T* to = out + (i * g_.out_c + o) * pixels;
        const T add = bias != nullptr ? bias[o] : T{0};
        for (int64_t p = 0; p < pixels; ++p) {
          to[p] = from[p] + add;
        }
      }
    }
  }

  const Conv2dGeometry& g_;
  Conv2dGeometry split_;  // with blocks as groups; input only
  int64_t blocks_;
  const T* filter_;
  T* patches_;
  T* pixels_;
};

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
