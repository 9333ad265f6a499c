#include "sluice/operators/math/gemm.h"

// C is split into panels of two vectors of columns, and these into tiles of
// kTileRows rows that stay in registers while k runs over a block. Rows of
// op(B) are read in place or from a panel packed on the stack: if B is
// transposed, at the right edge, and if many tiles use the panel. A is never
// packed: its elements are broadcast from memory in either form. One or two
// rows times a transposed B are computed as dot products instead. Up to sixteen
// rows times a wide B are summed in a buffer while rows of B are read from end
// to end: the hardware prefetches no panel whose rows are far apart.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/gemm_tile-inl.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_GEMM_TILES
#define SLUICE_GEMM_TILES
namespace sluice {

// A product, split into tiles: tile t is tile t % row_tiles of panel t /
// row_tiles. Dot products have `row_tiles` rows and panels of 4 columns.
template <typename T>
struct GemmTiles : GemmArgs<T> {
  bool dots = false;
  int64_t row_tiles = 0, panels = 0;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
#if HWY_TARGET <= HWY_AVX2
constexpr int kHalves = 2;
#else
constexpr int kHalves = 1;
#endif
// The elements of a half of a vector, 16 bytes.
template <typename T>
constexpr int64_t kQuad = 16 / sizeof(T);

// Loads kQuad values from p and, into the upper half, kQuad values from q.
template <typename T>
HWY_INLINE auto LoadHalves(const T* p, const T* q) {
  const hn::FixedTag<T, 16 / sizeof(T)> half;
#if HWY_TARGET <= HWY_AVX2
  const hn::FixedTag<T, 32 / sizeof(T)> whole;
  return hn::Combine(whole, hn::LoadU(half, q), hn::LoadU(half, p));
#else
  (void)q;
  return hn::LoadU(half, p);
#endif
}

// out[k * width + c] = in[c * stride + k] for 4 values of k (float) or 2
// (double), and equally many of c in each half.
HWY_INLINE void TransposeBlock(const float* in,
                               int64_t stride,
                               float* out,
                               int64_t width) {
  // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result)
  const hn::FixedTag<float, 4 * kHalves> d;
  const float* in4 = in + 4 * stride;
  const auto r0 = LoadHalves(in, in4);
  const auto r1 = LoadHalves(in + stride, in4 + stride);
  const auto r2 = LoadHalves(in + 2 * stride, in4 + 2 * stride);
  const auto r3 = LoadHalves(in + 3 * stride, in4 + 3 * stride);
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
  // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result)
  const hn::FixedTag<double, 2 * kHalves> d;
  const double* in2 = in + 2 * stride;
  const auto r0 = LoadHalves(in, in2);
  const auto r1 = LoadHalves(in + stride, in2 + stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + width);
}
#endif

// panel[k * kWidth + c] = op(B)[k, c], with zeros after the columns.
template <typename T>
HWY_NOINLINE void PackTransposed(
    const T* b, int64_t ldb, int64_t columns, int64_t depth, T* panel) {
  // NOLINTNEXTLINE(readability-identifier-naming)
  constexpr int64_t width = kWidth<T>;
  if (columns < width) {
    const Tag<T> d;
    for (int64_t l = 0; l < depth * width; l += kLanes<T>) {
      hn::Store(hn::Zero(d), d, panel + l);
    }
  }
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  // NOLINTNEXTLINE(readability-identifier-naming)
  constexpr int64_t block = kHalves * kQuad<T>;
  while (c < columns && columns >= block) {
    // The last block may overlap the one before it.
    const int64_t at = HWY_MIN(c, columns - block);
    int64_t k = 0;
    for (; k + kQuad<T> <= depth; k += kQuad<T>) {
      TransposeBlock(b + at * ldb + k, ldb, panel + k * width + at, width);
    }
    for (; k < depth; ++k) {
      for (int64_t l = at; l < at + block; ++l) {
        panel[k * width + l] = b[l * ldb + k];
      }
    }
    c = at + block;
  }
#endif
  for (; c < columns; ++c) {
    for (int64_t k = 0; k < depth; ++k) {
      panel[k * width + c] = b[c * ldb + k];
    }
  }
}

template <typename T>
HWY_NOINLINE void PackRows(
    const T* b, int64_t ldb, int64_t columns, int64_t depth, T* panel) {
#if HWY_TARGET <= HWY_AVX2
  const Tag<T> d;
  const int64_t second = HWY_MAX(columns - kLanes<T>, 0);
  const auto mask0 = hn::FirstN(d, static_cast<size_t>(columns - second));
  const auto mask1 = hn::FirstN(d, static_cast<size_t>(second));
  for (int64_t k = 0; k < depth; ++k, b += ldb, panel += kWidth<T>) {
    hn::Store(hn::MaskedLoad(mask0, d, b), d, panel);
    hn::Store(hn::MaskedLoad(mask1, d, b + kLanes<T>), d, panel + kLanes<T>);
  }
#else
  for (int64_t k = 0; k < depth; ++k, b += ldb, panel += kWidth<T>) {
    for (int64_t l = 0; l < kWidth<T>; ++l) {
      panel[l] = l < columns ? b[l] : T{0};
    }
  }
#endif
}

// The rows whose blocks of A stay in the second-level cache for all panels.
constexpr int64_t kTilesAtOnce = 480 / kTileRows;
constexpr int64_t kDotColumns = 4;
// The rows of products with wide panels.
constexpr int64_t kMostWide = 16;

// Whether a product is swept: `rows` are its rows, `stride` is that of B in
// bytes. Sums of more rows than four pay where rows of B are on other pages.
HWY_INLINE bool IsSwept(int64_t rows, int64_t stride) {
  constexpr int64_t kFew = 4, kPage = 4096;
  return rows <= (stride < kPage ? kFew : kMostWide) && stride >= kPage / 2;
}

// sums[r * columns + j] += op(A)[r, k] * B[k, j] for kSteps values of k, one
// after the other. `columns` is a multiple of the lanes.
template <bool kTransposed, int kR, int kSteps, typename T>
HWY_INLINE void SweepRows(const T* HWY_RESTRICT a,
                          int64_t lda,
                          const T* HWY_RESTRICT b,
                          int64_t ldb,
                          int64_t columns,
                          T* HWY_RESTRICT sums) {
  const Tag<T> d;
  V<T> values[kR][kSteps];
  HWY_UNROLL(4)
  for (int r = 0; r < kR; ++r) {
    HWY_UNROLL(4)
    for (int k = 0; k < kSteps; ++k) {
      values[r][k] = hn::Set(d, kTransposed ? a[k * lda + r] : a[r * lda + k]);
    }
  }
  for (int64_t j = 0; j < columns; j += kLanes<T>) {
    V<T> row[kR];
    HWY_UNROLL(4)
    for (int r = 0; r < kR; ++r) {
      row[r] = hn::Load(d, sums + r * columns + j);
    }
    HWY_UNROLL(4)
    for (int k = 0; k < kSteps; ++k) {
      const auto b_row = hn::LoadU(d, b + k * ldb + j);
      HWY_UNROLL(4)
      for (int r = 0; r < kR; ++r) {
        row[r] = hn::MulAdd(values[r][k], b_row, row[r]);
      }
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kR; ++r) {
      hn::Store(row[r], d, sums + r * columns + j);
    }
  }
}

// Adds to the sums of all rows, at most four at a time.
template <bool kTransposed, int kSteps, typename T>
HWY_INLINE void SweepAll(int64_t rows,
                         const T* a,
                         int64_t lda,
                         const T* b,
                         int64_t ldb,
                         int64_t columns,
                         T* sums) {
  for (int64_t groups = (rows + 3) / 4; groups > 0; --groups) {
    const int64_t height = (rows + groups - 1) / groups;
    switch (height) {
      case 1:
        SweepRows<kTransposed, 1, kSteps>(a, lda, b, ldb, columns, sums);
        break;
      case 2:
        SweepRows<kTransposed, 2, kSteps>(a, lda, b, ldb, columns, sums);
        break;
      case 3:
        SweepRows<kTransposed, 3, kSteps>(a, lda, b, ldb, columns, sums);
        break;
      default:
        SweepRows<kTransposed, 4, kSteps>(a, lda, b, ldb, columns, sums);
    }
    rows -= height;
    a += kTransposed ? height : height * lda;
    sums += height * columns;
  }
}

// Computes `rows` rows of C by `columns`, a multiple of the lanes, with the
// bits of Tile. `sums` has room for all of them.
template <bool kTransposed, typename T>
HWY_NOINLINE void Sweep(int64_t rows,
                        const GemmBlock<T>& block,
                        const T* a,
                        const T* b,
                        int64_t ldb,
                        int64_t columns,
                        T* sums,
                        T* c) {
  const Tag<T> d;
  for (int64_t i = 0; i < rows * columns; i += kLanes<T>) {
    hn::Store(hn::Zero(d), d, sums + i);
  }
  constexpr int kSteps = 4;
  const int64_t step = kTransposed ? block.lda : 1;
  int64_t k = 0;
  for (; k + kSteps <= block.depth; k += kSteps) {
    SweepAll<kTransposed, kSteps>(rows, a + k * step, block.lda, b + k * ldb,
                                  ldb, columns, sums);
  }
  for (; k < block.depth; ++k) {
    SweepAll<kTransposed, 1>(rows, a + k * step, block.lda, b + k * ldb, ldb,
                             columns, sums);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; j += kLanes<T>) {
      V<T> sum[1][1] = {{hn::Load(d, sums + r * columns + j)}};
      UpdateRows<1, 1>(sum, block.alpha, block.beta, kLanes<T>,
                       c + r * block.ldc + j, block.ldc);
    }
  }
}

// Computes rows [i, i + rows) of the panels from column j on, over one block of
// k. Returns the number of columns computed. `packed` holds a panel.
template <bool kTransposed, typename T>
int64_t RunPanel(const GemmTiles<T>& t,
                 const GemmBlock<T>& block,
                 int64_t k,
                 int64_t i,
                 int64_t rows,
                 int64_t j,
                 int64_t columns,
                 T* packed) {
  const T* a = t.a + (kTransposed ? k * t.lda + i : i * t.lda + k);
  T* c = t.c + i * t.ldc + j;
  const auto bytes = static_cast<int64_t>(sizeof(T));
  if (!t.transpose_b && IsSwept(t.m, t.ldb * bytes) && columns > kWidth<T>) {
    const int64_t most = kDepth * kWidth<T> / rows;
    columns = HWY_MIN(columns, most) / kWidth<T> * kWidth<T>;
    Sweep<kTransposed>(rows, block, a, t.b + k * t.ldb + j, t.ldb, columns,
                       packed, c);
    return columns;
  }
  // NOLINTNEXTLINE(readability-identifier-naming)
  constexpr int64_t wide = kWideVectors * kLanes<T>;
  if (!t.transpose_b && rows == 1 && columns >= wide) {
    // With two sums, every addition would wait for the previous one.
    Tile<kTransposed, 1, kWideVectors>(block, a, t.b + k * t.ldb + j, t.ldb,
                                       wide, c);
    return wide;
  }
  // NOLINTNEXTLINE(readability-identifier-naming)
  constexpr int64_t broad = 4 * kLanes<T>;
  if (kTileRows > 8 && !t.transpose_b && (rows == 2 || rows == 3) &&
      columns >= broad) {
    // Likewise, and rows of B are read in longer stretches.
    const T* b = t.b + k * t.ldb + j;
    if (rows == 2) {
      Tile<kTransposed, 2, 4>(block, a, b, t.ldb, broad, c);
    } else {
      Tile<kTransposed, 3, 4>(block, a, b, t.ldb, broad, c);
    }
    return broad;
  }
  columns = HWY_MIN(columns, kWidth<T>);
  const T* b = t.b + (t.transpose_b ? j * t.ldb + k : k * t.ldb + j);
  int64_t ldb = t.ldb;
  // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result)
  const bool far = ldb * bytes > 1024 && rows >= 3 * kTileRows;
  if (t.transpose_b) {
    PackTransposed(b, ldb, columns, block.depth, packed);
  } else if (far || columns < kWidth<T>) {
    PackRows(b, ldb, columns, block.depth, packed);
  }
  if (t.transpose_b || far || columns < kWidth<T>) {
    b = packed;
    ldb = kWidth<T>;
  }
  if (columns <= kLanes<T>) {
    PanelRows<kTransposed, 1>(block, a, b, ldb, rows, columns, c);
  } else {
    PanelRows<kTransposed, kVectors>(block, a, b, ldb, rows, columns, c);
  }
  return columns;
}

// Computes the panels of `t` that have tiles in [begin, end), in rows of
// [first, first + kTilesAtOnce) tiles.
template <bool kTransposed, typename T>
void RunRows(const GemmTiles<T>& t, int64_t begin, int64_t end, int64_t first) {
  HWY_ALIGN T packed[kDepth * kWidth<T>];
  const int64_t blocks = (t.k + kDepth - 1) / kDepth;
  const int64_t panel_end = (end - 1) / t.row_tiles + 1;
  for (int64_t number = 0; number < blocks; ++number) {
    const int64_t k = number * t.k / blocks;
    const GemmBlock<T> block{(number + 1) * t.k / blocks - k, t.lda, t.ldc,
                             t.alpha, number == 0 ? t.beta : T{1}};
    int64_t done = 0;
    for (int64_t panel = begin / t.row_tiles; panel < panel_end;) {
      const int64_t top = panel * t.row_tiles;
      const int64_t from = HWY_MAX(first, begin - top);
      const int64_t to =
          HWY_MIN(HWY_MIN(first + kTilesAtOnce, t.row_tiles), end - top);
      const int64_t j = panel * kWidth<T>;
      // Adjacent panels may form a wide one, if all of their tiles are here.
      const bool whole = t.m <= kMostWide && from == 0 && to == t.row_tiles;
      const int64_t last = whole ? end / t.row_tiles : panel + 1;
      const int64_t columns = HWY_MIN(last * kWidth<T>, t.n) - j;
      done = kWidth<T>;
      if (from < to) {
        const int64_t i = from * kTileRows;
        const int64_t rows = HWY_MIN(to * kTileRows, t.m) - i;
        done = RunPanel<kTransposed>(t, block, k, i, rows, j, columns, packed);
      }
      panel += (done + kWidth<T> - 1) / kWidth<T>;
    }
  }
}

// Multiplies rows of A by rows of B, four elements of C at a time.
template <typename T>
HWY_NOINLINE void RunDots(const GemmTiles<T>& t, int64_t begin, int64_t end) {
  const Tag<T> d;
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t i = tile % t.row_tiles;
    const int64_t j = tile / t.row_tiles * kDotColumns;
    const int64_t columns = HWY_MIN(kDotColumns, t.n - j);
    const T* HWY_RESTRICT a = t.a + i * t.lda;
    // Columns past the last read the last one again.
    const T* HWY_RESTRICT b[kDotColumns];
    V<T> sums[kDotColumns][2];
    T rest[kDotColumns];
    for (int64_t l = 0; l < kDotColumns; ++l) {
      b[l] = t.b + (j + HWY_MIN(l, columns - 1)) * t.ldb;
      sums[l][0] = sums[l][1] = hn::Zero(d);
      rest[l] = T{0};
    }
    int64_t k = 0;
    for (; k + 2 * kLanes<T> <= t.k; k += 2 * kLanes<T>) {
      HWY_UNROLL(2)
      for (int u = 0; u < 2; ++u) {
        const auto row = hn::LoadU(d, a + k + u * kLanes<T>);
        HWY_UNROLL(4)
        for (int64_t l = 0; l < kDotColumns; ++l) {
          sums[l][u] = hn::MulAdd(row, hn::LoadU(d, b[l] + k + u * kLanes<T>),
                                  sums[l][u]);
        }
      }
    }
    for (; k < t.k; ++k) {
      for (int64_t l = 0; l < kDotColumns; ++l) {
        rest[l] += a[k] * b[l][k];
      }
    }
    for (int64_t l = 0; l < columns; ++l) {
      const T sum =
          hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[l][0], sums[l][1]))) +
          rest[l];
      T& c = t.c[i * t.ldc + j + l];
      c = t.beta == T{0} ? t.alpha * sum : t.alpha * sum + t.beta * c;
    }
  }
}

template <typename T>
HWY_INLINE void RunTiles(const GemmTiles<T>& t, int64_t begin, int64_t end) {
  if (t.dots) return RunDots(t, begin, end);
  for (int64_t first = 0; first < t.row_tiles; first += kTilesAtOnce) {
    if (t.transpose_a) {
      RunRows<true>(t, begin, end, first);
    } else {
      RunRows<false>(t, begin, end, first);
    }
  }
}

// Sets the tile sizes for this instruction set.
template <typename T>
HWY_INLINE void CutTiles(GemmTiles<T>* t) {
  const int64_t rows = t->dots ? 1 : kTileRows;
  const int64_t columns = t->dots ? kDotColumns : kWidth<T>;
  t->row_tiles = (t->m + rows - 1) / rows;
  t->panels = (t->n + columns - 1) / columns;
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

// Computes C = beta C.
template <typename T>
void Scale(const GemmArgs<T>& g) {
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      T& c = g.c[i * g.ldc + j];
      c = g.beta == T{0} ? T{0} : g.beta * c;
    }
  }
}

// Returns the transposed product. One column is one row of it, and the other
// matrix is then read along its rows.
template <typename T>
GemmArgs<T> Transposed(const GemmArgs<T>& g) {
  return {
      !g.transpose_b, !g.transpose_a, g.n, g.m, g.k, g.alpha, g.b, g.ldb, g.a,
      g.lda,          g.beta,         g.c, g.m};
}

}  // namespace

template <typename T>
void Gemm(const GemmArgs<T>& args) {
  if (args.m <= 0 || args.n <= 0) return;
  if (args.k <= 0) return Scale(args);
  GemmTiles<T> tiles{args};
  if (args.n == 1 && (args.ldc == 1 || args.m == 1)) {
    static_cast<GemmArgs<T>&>(tiles) = Transposed(args);
  }
  // A contiguous column is also a row.
  if (tiles.m == 1 && tiles.transpose_a && tiles.lda == 1) {
    tiles.transpose_a = false;
    tiles.lda = tiles.k;
  }
  tiles.dots = tiles.transpose_b && !tiles.transpose_a && tiles.m <= 2;
  CutTilesFor<T>()(&tiles);
  const auto run = RunTilesFor<T>();
  // Below about 10 us of work, a second thread costs more than it saves.
  constexpr int64_t kWork = 1'000'000;
  const int64_t count = tiles.row_tiles * tiles.panels;
  const int64_t tile_work = tiles.m * tiles.n / count * tiles.k;
  const int64_t grain = 1 + kWork / (1 + tile_work);
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    // Each piece has about a billion products.
    InPieces(begin, end, 1024 * grain,
             [&](int64_t first, int64_t last) { run(tiles, first, last); });
  });
}

SLUICE_INSTANTIATE_FLOATS(Gemm);

}  // namespace sluice
#endif  // HWY_ONCE
