#include "sluice/operators/math/search/top_k.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "sluice/operators/math/search/order_key.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The elements that justify a thread.
constexpr int64_t kTopKShardElements = 16384;

// Defines a strict order of the columns of one row: whether `a` precedes `b`.
template <typename T, bool kLargest>
struct Better {
  const T* row;

  bool operator()(int64_t a, int64_t b) const {
    const auto key_a = OrderKey(row[a]);
    const auto key_b = OrderKey(row[b]);
    if (key_a != key_b) return kLargest ? key_a > key_b : key_a < key_b;
    return a < b;
  }
};

// Whether a block of a row may contain an element better than `best`. The loop
// has no branches; with NaNs it returns true more often than necessary.
constexpr int64_t kTopKBlock = 32;
template <typename T, bool kLargest>
bool MayBeat(const T* block, T best) {
  int any = 0;
  for (int64_t i = 0; i < kTopKBlock; ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      any |= kLargest ? !(block[i] <= best) : !(block[i] >= best);
    } else {
      const auto key = OrderKey(block[i]);
      any |= kLargest ? key > OrderKey(best) : key < OrderKey(best);
    }
  }
  return any != 0;
}

template <typename T, bool kLargest>
int64_t Best(const T* row, int64_t columns) {
  int64_t best = 0;
  auto best_key = OrderKey(row[0]);
  for (int64_t i = 0; i < columns;) {
    const int64_t end = std::min(i + kTopKBlock, columns);
    if (end - i == kTopKBlock && !MayBeat<T, kLargest>(row + i, row[best])) {
      i = end;
    }
    for (; i < end; ++i) {
      const auto key = OrderKey(row[i]);
      if (kLargest ? key > best_key : key < best_key) {
        best_key = key;
        best = i;
      }
    }
  }
  return best;
}

// The row of `indices` is used as a heap with the worst element in front.
template <typename T, bool kLargest>
void SelectRow(
    const T* row, int64_t columns, int64_t k, bool sorted, int64_t* indices) {
  const Better<T, kLargest> better{row};
  std::iota(indices, indices + k, int64_t{0});
  if (k == columns) {
    if (sorted) std::sort(indices, indices + k, better);
    return;
  }
  std::make_heap(indices, indices + k, better);
  for (int64_t i = k; i < columns; ++i) {
    if (!better(i, indices[0])) continue;
    std::pop_heap(indices, indices + k, better);
    indices[k - 1] = i;
    std::push_heap(indices, indices + k, better);
  }
  if (sorted) std::sort_heap(indices, indices + k, better);
}

template <typename T, bool kLargest>
void SelectRows(const T* x,
                int64_t rows,
                int64_t columns,
                int64_t k,
                bool sorted,
                T* values,
                int64_t* indices) {
  for (int64_t row = 0; row < rows; ++row) {
    if (k == 1) {
      indices[0] = Best<T, kLargest>(x, columns);
    } else {
      SelectRow<T, kLargest>(x, columns, k, sorted, indices);
    }
    for (int64_t i = 0; i < k; ++i) {
      values[i] = x[indices[i]];
    }
    x += columns;
    values += k;
    indices += k;
  }
}

}  // namespace

template <typename T>
void TopK(const T* x,
          int64_t rows,
          int64_t columns,
          int64_t k,
          bool largest,
          bool sorted,
          T* values,
          int64_t* indices) {
  const int64_t grain = std::max<int64_t>(kTopKShardElements / columns, 1);
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    const auto select = largest ? SelectRows<T, true> : SelectRows<T, false>;
    select(x + begin * columns, end - begin, columns, k, sorted,
           values + begin * k, indices + begin * k);
  });
}

SLUICE_INSTANTIATE_NUMBERS(TopK);
SLUICE_INSTANTIATE(TopK, uint64_t);

}  // namespace sluice
