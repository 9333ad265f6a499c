#include "sluice/operators/movement/scatter_add.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kScatterGrain = 32768;

template <typename T>
void AddRow(const T* x, int64_t count, Computed<T>* out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (count > 4) return AddContiguous(out, x, count, out);
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] += Widen(x[i]);
  }
}

}  // namespace

template <typename T, typename Index>
void ScatterAdd(const T* x,
                const Index* index,
                int64_t outer,
                int64_t size,
                int64_t count,
                int64_t inner,
                Computed<T>* out) {
  if (RepeatsOften(std::span(index, static_cast<size_t>(count)), size)) {
    std::vector<int64_t> rows(static_cast<size_t>(count));
    std::transform(index, index + count, rows.begin(), [size](Index row) {
      return row < 0 ? row + size : static_cast<int64_t>(row);
    });
    std::fill_n(out, outer * size * inner, Computed<T>{0});
    for (int64_t o = 0; o < outer; ++o) {
      AddRowSums<T>(x + o * count * inner, rows, size, inner,
                    out + o * size * inner);
    }
    return;
  }
  // Each shard owns rows of `out` and searches all indices for them.
  const auto own = [=](int64_t begin, int64_t end) {
    std::memset(out + begin * inner, 0,
                static_cast<size_t>((end - begin) * inner) * sizeof(*out));
    while (begin < end) {
      const int64_t o = begin / size;
      const int64_t first = begin - o * size;
      const int64_t last = std::min(size, end - o * size);
      const T* from = x + o * count * inner;
      Computed<T>* to = out + o * size * inner;
      for (int64_t i = 0; i < count; ++i) {
        auto row = static_cast<int64_t>(index[i]);
        if (row < 0) row += size;
        if (row < first || row >= last) continue;
        AddRow(from + i * inner, inner, to + row * inner);
      }
      begin = o * size + last;
    }
  };
  const int64_t rows = outer * size;
  const int64_t work = std::max(rows, outer * count) * inner;
  const int64_t grain =
      std::max<int64_t>(1, kScatterGrain / std::max<int64_t>(1, work / rows));
  ParallelFor(rows, grain, own);
}

#define SLUICE_SCATTER_ADD(T)                                                  \
  template SLUICE_API decltype(ScatterAdd<T, int32_t>) ScatterAdd<T, int32_t>; \
  template SLUICE_API decltype(ScatterAdd<T, int64_t>) ScatterAdd<T, int64_t>
SLUICE_SCATTER_ADD(float);
SLUICE_SCATTER_ADD(double);
SLUICE_SCATTER_ADD(float16);
SLUICE_SCATTER_ADD(bfloat16);
#undef SLUICE_SCATTER_ADD

}  // namespace sluice
