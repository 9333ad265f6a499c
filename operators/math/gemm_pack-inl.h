// Packs panels of op(B) for gemm.cc. Included once for every instruction set.
#if defined(SLUICE_OPERATORS_MATH_GEMM_PACK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_OPERATORS_MATH_GEMM_PACK_INL_H_
#undef SLUICE_OPERATORS_MATH_GEMM_PACK_INL_H_
#else
#define SLUICE_OPERATORS_MATH_GEMM_PACK_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "sluice/operators/math/gemm_tile-inl.h"

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

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
