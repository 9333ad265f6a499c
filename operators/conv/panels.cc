#include "sluice/operators/conv/panels.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

int64_t Width() {
  return kWidth<float>;
}
int64_t Rows() {
  return kTileRows;
}

// Computes kPanels whole panels of a single row, with the bits of PanelRows.
// One panel has too few sums to hide the latency of their additions.
template <int kPanels>
HWY_NOINLINE void OneRow(const PanelProduct& product,
                         int64_t column,
                         int64_t blocks) {
  const Tag<float> d;
  constexpr int kSums = kPanels * kVectors;
  const int64_t stride = product.depth * kWidth<float>;
  const float* packed = product.packed + column * product.depth;
  const float* start =
      product.start == nullptr ? nullptr : product.start + column;
  float* c = product.c + column;
  for (int64_t number = 0; number < blocks; ++number) {
    const int64_t next = (number + 1) * product.depth / blocks;
    hn::Vec<Tag<float>> sums[kSums];
    HWY_UNROLL(8)
    for (int i = 0; i < kSums; ++i) {
      sums[i] = number == 0 && start != nullptr
                    ? hn::LoadU(d, start + i * kLanes<float>)
                    : hn::Zero(d);
    }
    for (int64_t k = number * product.depth / blocks; k < next; ++k) {
      const auto x = hn::Set(d, product.a[k]);
      const float* row = packed + k * kWidth<float>;
      HWY_UNROLL(8)
      for (int i = 0; i < kSums; ++i) {
        const float* b = row + i / kVectors * stride;
        sums[i] = hn::MulAdd(x, hn::LoadU(d, b + i % kVectors * kLanes<float>),
                             sums[i]);
      }
    }
    HWY_UNROLL(8)
    for (int i = 0; i < kSums; ++i) {
      const int64_t at = i * kLanes<float>;
      const auto sum =
          number == 0 ? sums[i] : hn::Add(hn::LoadU(d, c + at), sums[i]);
      hn::StoreU(sum, d, c + at);
    }
  }
}

void Multiply(const PanelProduct& product, int64_t begin, int64_t end) {
  // Without terms, a block of depth 0 writes the initial sums.
  const int64_t blocks =
      HWY_MAX((product.depth + kDepth - 1) / kDepth, int64_t{1});
  // Which panels are computed together changes no bit.
  constexpr int64_t kTogether = 4;
  const int64_t whole =
      product.rows == 1 ? HWY_MIN(product.columns / kWidth<float>, end) : 0;
  for (; begin + kTogether <= whole; begin += kTogether) {
    OneRow<kTogether>(product, begin * kWidth<float>, blocks);
  }
  for (; begin < whole; ++begin) {
    OneRow<1>(product, begin * kWidth<float>, blocks);
  }
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t column = panel * kWidth<float>;
    const int64_t columns = HWY_MIN(product.columns - column, kWidth<float>);
    const float* packed = product.packed + column * product.depth;
    const float* start =
        product.start == nullptr ? nullptr : product.start + column;
    float* c = product.c + column;
    for (int64_t number = 0; number < blocks; ++number) {
      const int64_t k = number * product.depth / blocks;
      const int64_t next = (number + 1) * product.depth / blocks;
      const GemmBlock<float> block{next - k,
                                   product.lda,
                                   product.ldc,
                                   1.0f,
                                   number == 0 ? 0.0f : 1.0f,
                                   number == 0 ? start : nullptr};
      const float* a = product.a + k;
      const float* b = packed + k * kWidth<float>;
      if (columns <= kLanes<float>) {
        PanelRows<false, 1>(block, a, b, kWidth<float>, product.rows, columns,
                            c);
      } else {
        PanelRows<false, kVectors>(block, a, b, kWidth<float>, product.rows,
                                   columns, c);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace sluice {

HWY_EXPORT(Width);
HWY_EXPORT(Rows);
HWY_EXPORT(Multiply);

int64_t PanelColumns() {
  return HWY_DYNAMIC_DISPATCH(Width)();
}

int64_t PanelRowsAtOnce() {
  return HWY_DYNAMIC_DISPATCH(Rows)();
}

namespace {

// Sets every `step`-th element of `to` to `from` (nullptr: 0) times `factor`.
void PackColumn(
    const float* from, double factor, int64_t count, int64_t step, float* to) {
  for (int64_t k = 0; k < count; ++k) {
    to[k * step] =
        from == nullptr ? 0.0F : static_cast<float>(from[k] * factor);
  }
}

}  // namespace

void PackPanels(const float* rows,
                int64_t depth,
                int64_t columns,
                const double* factors,
                int64_t begin,
                int64_t end,
                float* packed) {
  const int64_t width = PanelColumns();
  // This many rows of a panel stay in the first-level cache.
  constexpr int64_t kRows = 64;
  for (int64_t panel = begin; panel < end; ++panel) {
    for (int64_t first = 0; first < depth; first += kRows) {
      const int64_t count = std::min(depth - first, kRows);
      float* to = packed + (panel * depth + first) * width;
      for (int64_t l = 0; l < width; ++l) {
        const int64_t j = panel * width + l;
        const float* from = j < columns ? rows + j * depth + first : nullptr;
        const double factor =
            j < columns && factors != nullptr ? factors[j] : 1.0;
        PackColumn(from, factor, count, width, to + l);
      }
    }
  }
}

void PackPanelsOfRows(const float* matrix,
                      int64_t depth,
                      int64_t columns,
                      int64_t begin,
                      int64_t end,
                      float* packed) {
  const int64_t width = PanelColumns();
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * width;
    const int64_t count = std::min(columns - first, width);
    float* to = packed + first * depth;
    for (int64_t k = 0; k < depth; ++k, to += width) {
      std::fill(std::copy_n(matrix + k * columns + first, count, to),
                to + width, 0.0F);
    }
  }
}

void MultiplyPanels(const PanelProduct& product, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Multiply)(product, begin, end);
}

}  // namespace sluice
#endif  // HWY_ONCE
