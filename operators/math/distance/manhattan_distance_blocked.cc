#include "sluice/operators/math/distance/manhattan_distance.h"

// Tiles of 4 rows by up to 4 vectors of distances stay in registers during the
// loop over k; vectors hold neighbouring j. y is transposed into panels of a
// tile's width and at most kDepth features. A panel stays in the first-level
// cache for all rows of x. If one side has few points (FewPoints), vectors hold
// neighbouring k instead, and nothing is packed.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cancel.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_MANHATTAN_DISTANCE_TILES
#define SLUICE_MANHATTAN_DISTANCE_TILES
namespace sluice {

// The distances of one call, split into panels of columns, and each panel into
// `row_tiles` tiles. Tile t is tile t % row_tiles of panel t / row_tiles. With
// few points tiles are single rows, and panels have 4 columns.
template <typename T>
struct ManhattanTiles {
  const T* x;
  const T* y;
  T* z;
  int64_t n, m, p;
  int64_t row_tiles, panels;
  bool few;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kRows = 4;
// The terms that are summed one by one: the rounding error grows with them.
constexpr int64_t kDepth = 128;
// The rows of y that one row of x is compared with at a time, with few points.
constexpr int64_t kColumns = 4;
// Bytes of the packed panels on each thread's stack.
constexpr int64_t kGroupBytes = int64_t{64} * 1024;
constexpr int64_t kRowTilesAtOnce = 16;
// The maximum number of vectors of a panel; more would not fit in registers.
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kMaxVectors = 4;
#else
constexpr int64_t kMaxVectors = 2;
#endif

template <typename T>
using Tag = hn::ScalableTag<T>;

#if HWY_TARGET != HWY_SCALAR
// out[k * width + c] = in[c * stride + k] for 4 values of each of k and c
// (float), or 2 (double).
HWY_INLINE void TransposeBlock(const float* in,
                               int64_t stride,
                               float* out,
                               int64_t width) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, in), r1 = hn::LoadU(d, in + stride);
  const auto r2 = hn::LoadU(d, in + 2 * stride);
  const auto r3 = hn::LoadU(d, in + 3 * stride);
  const auto low02 = hn::InterleaveLower(d, r0, r2);
  const auto low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2);
  const auto high13 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, low02, low13), d, out);
  hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, out + width);
  hn::StoreU(hn::InterleaveLower(d, high02, high13), d, out + 2 * width);
  hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, out + 3 * width);
}
HWY_INLINE void TransposeBlock(const double* in,
                               int64_t stride,
                               double* out,
                               int64_t width) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, in), r1 = hn::LoadU(d, in + stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + width);
}
#endif

// panel[k * width + c] = y[c, k] for `depth` features of `columns` rows of y,
// and zeros for the remaining c < width.
template <typename T>
HWY_NOINLINE void PackPanel(const T* y,
                            int64_t stride,
                            int64_t columns,
                            int64_t depth,
                            int64_t width,
                            T* panel) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  int64_t c = 0;
  for (; c + kBlock <= columns; c += kBlock) {
    int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; k + kBlock <= depth; k += kBlock) {
      TransposeBlock(y + c * stride + k, stride, panel + k * width + c, width);
    }
#endif
    for (; k < depth; ++k) {
      for (int64_t l = c; l < c + kBlock; ++l) {
        panel[k * width + l] = y[l * stride + k];
      }
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t l = c; l < columns; ++l) {
      panel[k * width + l] = y[l * stride + k];
    }
    for (int64_t l = columns; l < width; ++l) {
      panel[k * width + l] = T{0};
    }
  }
}

// Computes or adds to one tile: z[a, :columns] is the distance of row a of x to
// the panel (of exactly kV vectors) over `depth` features.
template <typename T, int kR, int kV>
HWY_INLINE void Tile(const T* HWY_RESTRICT x,
                     int64_t x_stride,
                     const T* HWY_RESTRICT panel,
                     int64_t depth,
                     T* HWY_RESTRICT z,
                     int64_t z_stride,
                     int64_t columns,
                     bool add) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  V sums[kR][kV];
  HWY_UNROLL(8)
  for (int a = 0; a < kR; ++a) {
    HWY_UNROLL(8)
    for (int b = 0; b < kV; ++b) {
      sums[a][b] = hn::Zero(d);
    }
  }
  HWY_UNROLL(2)
  for (int64_t k = 0; k < depth; ++k) {
    V columns_k[kV];
    HWY_UNROLL(8)
    for (int b = 0; b < kV; ++b) {
      columns_k[b] = hn::Load(d, panel + (k * kV + b) * kLanes);
    }
    HWY_UNROLL(8)
    for (int a = 0; a < kR; ++a) {
      const V row = hn::Set(d, x[a * x_stride + k]);
      HWY_UNROLL(8)
      for (int b = 0; b < kV; ++b) {
        sums[a][b] = hn::Add(sums[a][b], hn::Abs(hn::Sub(row, columns_k[b])));
      }
    }
  }
  HWY_UNROLL(8)
  for (int a = 0; a < kR; ++a) {
    T* out = z + a * z_stride;
    HWY_UNROLL(8)
    for (int b = 0; b < kV; ++b) {
      T* to = out + b * kLanes;
      const int64_t left = columns - b * kLanes;
      if (left >= kLanes) {
        hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sums[a][b]) : sums[a][b], d,
                   to);
      } else if (left > 0) {
        HWY_ALIGN T lanes[hn::MaxLanes(d)];
        hn::Store(sums[a][b], d, lanes);
        for (int64_t l = 0; l < left; ++l) {
          to[l] = add ? to[l] + lanes[l] : lanes[l];
        }
      }
    }
  }
}

// Computes tiles of kR rows from row i on while kR rows remain. Returns the
// next row.
template <typename T, int kR, int kV>
HWY_INLINE int64_t TilesOf(int64_t i,
                           const T* x,
                           int64_t x_stride,
                           const T* panel,
                           int64_t depth,
                           T* z,
                           int64_t z_stride,
                           int64_t rows,
                           int64_t columns,
                           bool add) {
  for (; i + kR <= rows; i += kR) {
    Tile<T, kR, kV>(x + i * x_stride, x_stride, panel, depth, z + i * z_stride,
                    z_stride, columns, add);
  }
  return i;
}

// Computes `rows` rows of one panel over one range of features.
template <typename T, int kV>
HWY_NOINLINE void PanelRows(const T* x,
                            int64_t x_stride,
                            const T* panel,
                            int64_t depth,
                            T* z,
                            int64_t z_stride,
                            int64_t rows,
                            int64_t columns,
                            bool add) {
  int64_t i = TilesOf<T, kRows, kV>(0, x, x_stride, panel, depth, z, z_stride,
                                    rows, columns, add);
  if constexpr (kRows > 4) {
    i = TilesOf<T, 4, kV>(i, x, x_stride, panel, depth, z, z_stride, rows,
                          columns, add);
  }
  i = TilesOf<T, 2, kV>(i, x, x_stride, panel, depth, z, z_stride, rows,
                        columns, add);
  TilesOf<T, 1, kV>(i, x, x_stride, panel, depth, z, z_stride, rows, columns,
                    add);
}

// The columns of a panel. The widths of panels differ by at most one vector.
template <typename T>
struct Panel {
  Panel(const ManhattanTiles<T>& t, int64_t number) {
    constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
    const int64_t all = (t.m + kLanes - 1) / kLanes;
    const int64_t first = number * all / t.panels;
    vectors = (number + 1) * all / t.panels - first;
    begin = first * kLanes;
    width = vectors * kLanes;
    columns = HWY_MIN(width, t.m - begin);
  }
  int64_t vectors, begin, width, columns;
};

// Computes row tiles [first, last) of a panel over features [k, k + depth).
template <typename T>
void RunPanel(const ManhattanTiles<T>& t,
              const Panel<T>& panel,
              const T* packed,
              int64_t first,
              int64_t last,
              int64_t k,
              int64_t depth) {
  const int64_t i = first * kRows;
  const int64_t rows = HWY_MIN(last * kRows, t.n) - i;
  const T* x = t.x + i * t.p + k;
  T* z = t.z + i * t.m + panel.begin;
  switch (panel.vectors) {
    case 1:
      return PanelRows<T, 1>(x, t.p, packed, depth, z, t.m, rows, panel.columns,
                             k > 0);
    case 2:
      return PanelRows<T, 2>(x, t.p, packed, depth, z, t.m, rows, panel.columns,
                             k > 0);
#if HWY_TARGET <= HWY_AVX3
    case 3:
      return PanelRows<T, 3>(x, t.p, packed, depth, z, t.m, rows, panel.columns,
                             k > 0);
    case 4:
      return PanelRows<T, 4>(x, t.p, packed, depth, z, t.m, rows, panel.columns,
                             k > 0);
#endif
  }
}

// Computes the distances of one row to 4 rows of y, of which the last may be
// the same, in vectors of neighbouring features.
template <typename T>
HWY_NOINLINE void RowTiles(const ManhattanTiles<T>& t,
                           int64_t begin,
                           int64_t end) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t i = tile % t.row_tiles;
    const int64_t j = tile / t.row_tiles * kColumns;
    const int64_t columns = HWY_MIN(kColumns, t.m - j);
    const T* HWY_RESTRICT x = t.x + i * t.p;
    const T* HWY_RESTRICT y[kColumns];
    V totals[kColumns];
    T rest[kColumns] = {};
    for (int64_t l = 0; l < kColumns; ++l) {
      y[l] = t.y + (j + HWY_MIN(l, columns - 1)) * t.p;
      totals[l] = hn::Zero(d);
    }
    int64_t k = 0;
    while (k + kLanes <= t.p) {
      const int64_t last = HWY_MIN(t.p, k + kDepth * kLanes);
      V sums[kColumns] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      for (; k + kLanes <= last; k += kLanes) {
        const V row = hn::LoadU(d, x + k);
        HWY_UNROLL(4)
        for (int64_t l = 0; l < kColumns; ++l) {
          sums[l] =
              hn::Add(sums[l], hn::Abs(hn::Sub(row, hn::LoadU(d, y[l] + k))));
        }
      }
      for (int64_t l = 0; l < kColumns; ++l) {
        totals[l] = hn::Add(totals[l], sums[l]);
      }
    }
    for (; k < t.p; ++k) {
      for (int64_t l = 0; l < kColumns; ++l) {
        const T difference = x[k] - y[l][k];
        rest[l] += difference < 0 ? -difference : difference;
      }
    }
    for (int64_t l = 0; l < columns; ++l) {
      t.z[i * t.m + j + l] =
          hn::GetLane(hn::SumOfLanes(d, totals[l])) + rest[l];
    }
  }
}

// Computes tiles [begin, end), a few panels at a time. These stay in the
// second-level cache and share each pass over x. The first-level cache holds
// one panel and the few rows of x that are processed at a time.
template <typename T>
void RunTiles(const ManhattanTiles<T>& t, int64_t begin, int64_t end) {
  if (t.few) return RowTiles(t, begin, end);
  constexpr int64_t kPanelSize = kDepth * kMaxVectors * hn::MaxLanes(Tag<T>());
  constexpr int64_t kGroup = kGroupBytes / (kPanelSize * sizeof(T));
  HWY_ALIGN T packed[kGroup * kPanelSize];
  const int64_t blocks = (t.p + kDepth - 1) / kDepth;
  const int64_t panel_end = (end - 1) / t.row_tiles + 1;
  for (int64_t group = begin / t.row_tiles; group < panel_end;
       group += kGroup) {
    const int64_t group_end = HWY_MIN(group + kGroup, panel_end);
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t k = block * t.p / blocks;
      const int64_t depth = (block + 1) * t.p / blocks - k;
      for (int64_t g = group; g < group_end; ++g) {
        const Panel<T> panel(t, g);
        PackPanel(t.y + panel.begin * t.p + k, t.p, panel.columns, depth,
                  panel.width, packed + (g - group) * kPanelSize);
      }
      for (int64_t row = 0; row < t.row_tiles; row += kRowTilesAtOnce) {
        for (int64_t g = group; g < group_end; ++g) {
          const int64_t first = HWY_MAX(row, begin - g * t.row_tiles);
          const int64_t last =
              HWY_MIN(HWY_MIN(row + kRowTilesAtOnce, t.row_tiles),
                      end - g * t.row_tiles);
          if (first < last) {
            RunPanel(t, Panel<T>(t, g), packed + (g - group) * kPanelSize,
                     first, last, k, depth);
          }
        }
      }
    }
  }
}

// Sets the tile sizes for this instruction set.
template <typename T>
void CutTiles(ManhattanTiles<T>* t) {
  constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
  const int64_t vectors = (t->m + kLanes - 1) / kLanes;
  t->few = FewPoints(t->n, t->m, t->p, kLanes);
  if (t->few) {
    t->row_tiles = t->n;
    t->panels = (t->m + kColumns - 1) / kColumns;
    return;
  }
  t->row_tiles = (t->n + kRows - 1) / kRows;
  t->panels = (vectors + kMaxVectors - 1) / kMaxVectors;
}

SLUICE_SIMD_FLOATS(RunTiles);
SLUICE_SIMD_FLOATS(CutTiles);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(RunTiles);
SLUICE_EXPORT_FLOATS(CutTiles);

}  // namespace

template <typename T>
void ManhattanDistanceBlocked(
    const T* x, const T* y, T* z, int64_t n, int64_t m, int64_t p) {
  if (n <= 0 || m <= 0) return;
  if (p <= 0) {
    for (int64_t i = 0; i < n * m; ++i) {
      z[i] = T{0};
    }
    return;
  }
  ManhattanTiles<T> tiles{x, y, z, n, m, p, 0, 0, false};
  CutTilesFor<T>()(&tiles);
  const auto run = RunTilesFor<T>();
  // Below about 10 us of work, a second thread costs more than it saves.
  const int64_t tile_pairs = (tiles.few ? 4 : 256) * p;
  const int64_t grain = 1 + 300'000 / tile_pairs;
  ParallelFor(
      tiles.row_tiles * tiles.panels, grain, [&](int64_t begin, int64_t end) {
        InPieces(begin, end, 256 * grain,
                 [&](int64_t first, int64_t last) { run(tiles, first, last); });
      });
}

SLUICE_INSTANTIATE_FLOATS(ManhattanDistanceBlocked);

}  // namespace sluice
#endif  // HWY_ONCE
