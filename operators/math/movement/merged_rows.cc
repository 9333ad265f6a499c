#include "sluice/operators/math/movement/merged_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "sluice/operators/math/elementwise.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

constexpr int kDigitBits = 11;
using Digits = std::array<int64_t, (1 << kDigitBits) + 1>;

// Sorts positions by one digit of their rows; equal ones keep their order.
void SortByDigit(std::span<const int64_t> rows,
                 int shift,
                 std::vector<int64_t>* order,
                 std::vector<int64_t>* sorted) {
  constexpr int64_t kMask = (1 << kDigitBits) - 1;
  const auto digit = [&](int64_t position) {
    return static_cast<size_t>((rows[static_cast<size_t>(position)] >> shift) &
                               kMask);
  };
  Digits ends = {};
  for (const int64_t position : *order) {
    ++ends[digit(position) + 1];
  }
  for (size_t i = 1; i < ends.size(); ++i) {
    ends[i] += ends[i - 1];
  }
  sorted->resize(order->size());
  for (const int64_t position : *order) {
    (*sorted)[static_cast<size_t>(ends[digit(position)]++)] = position;
  }
  std::swap(*order, *sorted);
}

}  // namespace

MergedRows MergeRows(std::span<const int64_t> rows, int64_t height) {
  MergedRows merged;
  std::vector<int64_t>& order = merged.order;
  order.reserve(rows.size());
  bool ascending = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    ascending =
        ascending &&
        (order.empty() || rows[static_cast<size_t>(order.back())] <= rows[i]);
    order.push_back(static_cast<int64_t>(i));
  }
  const auto bits = static_cast<int>(
      std::bit_width(static_cast<uint64_t>(std::max<int64_t>(height, 1))));
  std::vector<int64_t> sorted;
  for (int shift = 0; shift < bits && !ascending; shift += kDigitBits) {
    SortByDigit(rows, shift, &order, &sorted);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t row = rows[static_cast<size_t>(order[i])];
    if (!merged.rows.empty() && merged.rows.back() == row) continue;
    merged.rows.push_back(row);
    merged.begins.push_back(static_cast<int64_t>(i));
  }
  merged.begins.push_back(static_cast<int64_t>(order.size()));
  return merged;
}

int64_t FindOutsideRow(std::span<const int64_t> rows, int64_t height) {
  const auto outside = std::find_if(rows.begin(), rows.end(), [&](int64_t row) {
    return row < -1 || row >= height;
  });
  return outside == rows.end() ? -1 : outside - rows.begin();
}

template <typename T>
void SumRows(const T* x,
             std::span<const int64_t> positions,
             int64_t width,
             Computed<T>* out) {
  constexpr size_t kInOrder = 256;
  if (positions.size() > kInOrder) {
    const size_t half = positions.size() / 2;
    std::vector<Computed<T>> rest(static_cast<size_t>(width));
    SumRows(x, positions.first(half), width, out);
    SumRows(x, positions.subspan(half), width, rest.data());
    return AddContiguous<Computed<T>>(out, rest.data(), width, out);
  }
  std::transform(x + positions[0] * width, x + (positions[0] + 1) * width, out,
                 [](T value) { return Widen(value); });
  for (const int64_t position : positions.subspan(1)) {
    const T* row = x + position * width;
    if constexpr (std::is_same_v<T, Computed<T>>) {
      AddContiguous(out, row, width, out);
    } else {
      for (int64_t j = 0; j < width; ++j) {
        out[j] += Widen(row[j]);
      }
    }
  }
}

// Rows whose last digits differ are counted apart first: a table of all rows
// would cost more than short sums.
template <typename Index>
bool RepeatsOften(std::span<const Index> rows, int64_t height) {
  constexpr uint32_t kOften = 512;
  constexpr size_t kBuckets = 4096;
  if (rows.size() <= kOften) return false;
  std::array<uint32_t, kBuckets> buckets = {};
  uint32_t most = 0;
  for (const Index row : rows) {
    most = std::max(most, ++buckets[static_cast<size_t>(row) % kBuckets]);
  }
  if (most <= kOften) return false;
  std::vector<uint32_t> counts(static_cast<size_t>(height));
  return std::any_of(rows.begin(), rows.end(), [&](Index row) {
    const int64_t at = row < 0 ? row + height : row;
    return ++counts[static_cast<size_t>(at)] > kOften;
  });
}

template <typename T>
void AddRowSums(const T* x,
                std::span<const int64_t> rows,
                int64_t height,
                int64_t width,
                Computed<T>* out) {
  const MergedRows merged = MergeRows(rows, height);
  const auto count = static_cast<int64_t>(merged.rows.size());
  const int64_t grain = kGrain / std::max<int64_t>(1, width) + 1;
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    std::vector<Computed<T>> sum(static_cast<size_t>(width));
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end);
         ++k) {
      SumRows(x, merged.PositionsOf(k), width, sum.data());
      Computed<T>* to = out + merged.rows[k] * width;
      AddContiguous<Computed<T>>(to, sum.data(), width, to);
    }
  });
}

// Each thread adds the rows of one part of the table, in their order.
template <typename T>
RowSums<T>::RowSums(std::span<const int64_t> rows,
                    const T* x,
                    int64_t height,
                    int64_t width)
    : sums_(static_cast<size_t>(height * width), T{0}),
      rows_(static_cast<size_t>(height)) {
  std::vector<uint8_t> has(static_cast<size_t>(height), 0);
  const bool often = RepeatsOften(rows, height);
  if (often) AddRowSums(x, rows, height, width, sums_.data());
  const auto part = (height + NumThreads() - 1) / NumThreads();
  ParallelFor(height, part, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t row = rows[i];
      if (row < begin || row >= end) continue;
      T* const sum = sums_.data() + row * width;
      const T* const each = x + static_cast<int64_t>(i) * width;
      has[static_cast<size_t>(row)] = 1;
      for (int64_t j = 0; j < width && !often; ++j) {
        sum[j] += each[j];
      }
    }
  });
  // Without branches, which would often be mispredicted.
  size_t count = 0;
  for (int64_t row = 0; row < height; ++row) {
    rows_[count] = row;
    count += has[static_cast<size_t>(row)];
  }
  rows_.resize(count);
}

template class SLUICE_API RowSums<float>;
template class SLUICE_API RowSums<double>;
SLUICE_INSTANTIATE_FLOATS(SumRows);
SLUICE_INSTANTIATE_FLOATS_AND_HALVES(AddRowSums);
SLUICE_INSTANTIATE_INDICES(RepeatsOften);

}  // namespace sluice
