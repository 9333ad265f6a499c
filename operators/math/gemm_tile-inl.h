// The tiles of gemm.cc: a few rows of C that stay in registers during the loop
// over k. Included once for every instruction set.
#if defined(SLUICE_OPERATORS_MATH_GEMM_TILE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_OPERATORS_MATH_GEMM_TILE_INL_H_
#undef SLUICE_OPERATORS_MATH_GEMM_TILE_INL_H_
#else
#define SLUICE_OPERATORS_MATH_GEMM_TILE_INL_H_
#endif

#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The terms that are summed in registers. Blocks of them are added one by one.
constexpr int64_t kDepth = 256;
constexpr int kVectors = 2;
#if HWY_TARGET <= HWY_AVX3
constexpr int kTileRows = 12;
constexpr int kWideVectors = 8;
#else
constexpr int kTileRows = 6;
constexpr int kWideVectors = 6;
#endif

template <typename T>
constexpr int64_t kWidth = kVectors* kLanes<T>;

// The parameters that the tiles of a call share for one block of k.
template <typename T>
struct GemmBlock {
  int64_t depth;
  int64_t lda, ldc;
  T alpha;
  T beta;                    // 1 after the first block
  const T* start = nullptr;  // initial value of each column's sums, or 0
};

// c[:columns] = product + beta c.
template <typename T>
HWY_INLINE void Update(V<T> product, T beta, int64_t columns, T* c) {
  const Tag<T> d;
#if HWY_TARGET <= HWY_AVX2
  const auto mask = hn::FirstN(d, static_cast<size_t>(columns));
  if (beta != T{0}) {
    product = hn::MulAdd(hn::Set(d, beta), hn::MaskedLoad(mask, d, c), product);
  }
  hn::BlendedStore(product, mask, d, c);
#else
  // Without masks, loads and stores would access memory past the row.
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (int64_t l = 0; beta != T{0} && l < columns; ++l) {
    lanes[l] = c[l];
  }
  hn::Store(hn::MulAdd(hn::Set(d, beta), hn::Load(d, lanes), product), d,
            lanes);
  for (int64_t l = 0; l < columns; ++l) {
    c[l] = lanes[l];
  }
#endif
}

// Updates kR rows of kV vectors; the last vectors may be partial.
template <int kR, int kV, typename T>
HWY_INLINE void UpdateRows(V<T> (&sums)[kR][kV],
                           T alpha,
                           T beta,
                           int64_t columns,
                           T* HWY_RESTRICT c,
                           int64_t ldc) {
  const Tag<T> d;
  if (alpha != T{1}) {
    HWY_UNROLL(16)
    for (int r = 0; r < kR; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kV; ++v) {
        sums[r][v] = hn::Mul(hn::Set(d, alpha), sums[r][v]);
      }
    }
  }
  if (columns < kV * kLanes<T>) {
    HWY_UNROLL(16)
    for (int r = 0; r < kR; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kV; ++v) {
        const int64_t left = columns - v * kLanes<T>;
        Update(sums[r][v], beta, HWY_MIN(left, kLanes<T>),
               c + r * ldc + v * kLanes<T>);
      }
    }
    return;
  }
  if (beta != T{0}) {
    HWY_UNROLL(16)
    for (int r = 0; r < kR; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kV; ++v) {
        sums[r][v] =
            hn::MulAdd(hn::Set(d, beta),
                       hn::LoadU(d, c + r * ldc + v * kLanes<T>), sums[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kR; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kV; ++v) {
      hn::StoreU(sums[r][v], d, c + r * ldc + v * kLanes<T>);
    }
  }
}

// Computes kR rows of C by kV vectors. Element (r, k) of op(A) is a[r * lda +
// k], or a[k * lda + r] if kTransposed; vector v of row k of op(B) is at b[k *
// ldb + v * lanes].
template <bool kTransposed, int kR, int kV, typename T>
HWY_INLINE void Tile(const GemmBlock<T>& block,
                     const T* HWY_RESTRICT a,
                     const T* HWY_RESTRICT b,
                     int64_t ldb,
                     int64_t columns,
                     T* HWY_RESTRICT c) {
  const Tag<T> d;
  V<T> sums[kR][kV];
  HWY_UNROLL(16)
  for (int r = 0; r < kR; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kV; ++v) {
      sums[r][v] =
          block.start == nullptr
              ? hn::Zero(d)
              : LoadPart(block.start + v * kLanes<T>,
                         HWY_MAX(columns - v * kLanes<T>, int64_t{0}), T{0});
    }
  }
  // Pointers to every third row: each reaches three rows by two strides.
  const T* rows[(kR + 2) / 3];
  HWY_UNROLL(4)
  for (int r = 0; r < kR; r += 3) {
    rows[r / 3] = a + (kTransposed ? r : r * block.lda);
  }
  const int64_t lda = block.lda;
  for (int64_t k = 0; k < block.depth; ++k) {
    V<T> b_row[kV];
    HWY_UNROLL(8)
    for (int v = 0; v < kV; ++v) {
      b_row[v] = hn::LoadU(d, b + v * kLanes<T>);
    }
    b += ldb;
    HWY_UNROLL(16)
    for (int r = 0; r < kR; ++r) {
      const auto value =
          hn::Set(d, kTransposed ? a[r] : rows[r / 3][(r % 3) * lda + k]);
      HWY_UNROLL(8)
      for (int v = 0; v < kV; ++v) {
        sums[r][v] = hn::MulAdd(value, b_row[v], sums[r][v]);
      }
    }
    if constexpr (kTransposed) {
      a += lda;
      if constexpr (kR >= 4) hwy::Prefetch(a + 16 * lda);
    }
  }
  UpdateRows<kR, kV>(sums, block.alpha, block.beta, columns, c, block.ldc);
}

// The maximum height of a tile for the remaining rows.
constexpr int64_t kMostLeft = kTileRows > 8 ? 7 : kTileRows;

template <bool kTransposed, int kV, typename T>
HWY_INLINE void LowTile(int64_t height,
                        const GemmBlock<T>& block,
                        const T* a,
                        const T* b,
                        int64_t ldb,
                        int64_t columns,
                        T* c) {
  switch (height) {
    case 1:
      return Tile<kTransposed, 1, kV>(block, a, b, ldb, columns, c);
    case 2:
      return Tile<kTransposed, 2, kV>(block, a, b, ldb, columns, c);
    case 3:
      return Tile<kTransposed, 3, kV>(block, a, b, ldb, columns, c);
    case 4:
      return Tile<kTransposed, 4, kV>(block, a, b, ldb, columns, c);
    case 5:
      return Tile<kTransposed, 5, kV>(block, a, b, ldb, columns, c);
    case 6:
      return Tile<kTransposed, 6, kV>(block, a, b, ldb, columns, c);
    default:
      if constexpr (kMostLeft > 6) {
        Tile<kTransposed, 7, kV>(block, a, b, ldb, columns, c);
      }
  }
}

// Computes `rows` rows of one panel of at most kV vectors.
template <bool kTransposed, int kV, typename T>
HWY_NOINLINE void PanelRows(const GemmBlock<T>& block,
                            const T* a,
                            const T* b,
                            int64_t ldb,
                            int64_t rows,
                            int64_t columns,
                            T* c) {
  const auto forward = [&](int64_t count) HWY_ATTR {
    a += kTransposed ? count : count * block.lda;
    c += count * block.ldc;
    rows -= count;
  };
  if constexpr (kTileRows > 8) {
    // Four rows cannot keep the multipliers busy: 16 rows are two tiles of 8.
    while (rows >= kTileRows && rows != 16) {
      Tile<kTransposed, kTileRows, kV>(block, a, b, ldb, columns, c);
      forward(kTileRows);
    }
    // NOLINTNEXTLINE(bugprone-infinite-loop)
    while (rows >= 8) {
      Tile<kTransposed, 8, kV>(block, a, b, ldb, columns, c);
      forward(8);
    }
  } else if constexpr (kV == 1) {
    // Tiles of six sums would wait for additions.
    constexpr int kTall = 2 * kTileRows;
    while (rows >= kTall) {
      Tile<kTransposed, kTall, 1>(block, a, b, ldb, columns, c);
      forward(kTall);
    }
  }
  // The remaining rows are split into tiles of nearly equal height.
  for (int64_t tiles = (rows + kMostLeft - 1) / kMostLeft; tiles > 0; --tiles) {
    const int64_t height = (rows + tiles - 1) / tiles;
    LowTile<kTransposed, kV>(height, block, a, b, ldb, columns, c);
    forward(height);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
