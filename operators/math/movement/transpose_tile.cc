#include "sluice/operators/math/movement/transpose_tile.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// Transposes kSide x kSide elements. Each of log2(kSide) rounds interleaves the
// first half of the vectors, which have kSide elements, with the second half.
template <int64_t kSide, typename Unit>
HWY_INLINE void TransposeBlock(const char* from,
                               int64_t from_stride,
                               char* to,
                               int64_t to_stride) {
  const hn::FixedTag<Unit, static_cast<size_t>(kSide)> d;
  hn::Vec<decltype(d)> vectors[kSide];
  hn::Vec<decltype(d)> mixed[kSide];
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kSide; ++i) {
    vectors[i] =
        hn::LoadU(d, reinterpret_cast<const Unit*>(from + i * from_stride));
  }
  HWY_UNROLL(4)
  for (int64_t round = 1; round < kSide; round *= 2) {
    HWY_UNROLL(8)
    for (int64_t i = 0; i < kSide / 2; ++i) {
      const auto second = vectors[i + kSide / 2];
      mixed[2 * i] = hn::InterleaveLower(d, vectors[i], second);
      mixed[2 * i + 1] = hn::InterleaveUpper(d, vectors[i], second);
    }
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kSide; ++i) {
      vectors[i] = mixed[i];
    }
  }
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kSide; ++i) {
    hn::StoreU(vectors[i], d, reinterpret_cast<Unit*>(to + i * to_stride));
  }
}
#endif

template <typename Unit>
HWY_INLINE void Units(const char* from,
                      int64_t from_stride,
                      char* to,
                      int64_t to_stride,
                      int64_t rows,
                      int64_t columns) {
  const auto copy = [&](int64_t r, int64_t c) HWY_ATTR {
    reinterpret_cast<Unit*>(to + r * to_stride)[c] =
        reinterpret_cast<const Unit*>(from + c * from_stride)[r];
  };
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Unit));
  constexpr int64_t kSide = 16 / kBytes;
  for (; r + kSide <= rows; r += kSide) {
    int64_t c = 0;
    for (; c + kSide <= columns; c += kSide) {
      TransposeBlock<kSide, Unit>(from + c * from_stride + r * kBytes,
                                  from_stride, to + r * to_stride + c * kBytes,
                                  to_stride);
    }
    for (; c < columns; ++c) {
      for (int64_t i = r; i < r + kSide; ++i) {
        copy(i, c);
      }
    }
  }
#endif
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      copy(r, c);
    }
  }
}

void Tile(const char* from,
          int64_t from_stride,
          char* to,
          int64_t to_stride,
          int64_t rows,
          int64_t columns,
          size_t element_size) {
  switch (element_size) {
    case 1:
      return Units<uint8_t>(from, from_stride, to, to_stride, rows, columns);
    case 2:
      return Units<uint16_t>(from, from_stride, to, to_stride, rows, columns);
    case 4:
      return Units<uint32_t>(from, from_stride, to, to_stride, rows, columns);
    default:
      return Units<uint64_t>(from, from_stride, to, to_stride, rows, columns);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {

HWY_EXPORT(Tile);

void TransposeTile(const char* from,
                   int64_t from_stride,
                   char* to,
                   int64_t to_stride,
                   int64_t rows,
                   int64_t columns,
                   size_t element_size) {
  HWY_DYNAMIC_DISPATCH(Tile)
  (from, from_stride, to, to_stride, rows, columns, element_size);
}

}  // namespace sluice
#endif  // HWY_ONCE
