#include "sluice/operators/math/movement/merged_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "sluice/operators/math/elementwise.h"
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
             T* out) {
  std::copy_n(x + positions[0] * width, width, out);
  for (const int64_t position : positions.subspan(1)) {
    AddContiguous(out, x + position * width, width, out);
  }
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
  const auto part = (height + NumThreads() - 1) / NumThreads();
  ParallelFor(height, part, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t row = rows[i];
      if (row < begin || row >= end) continue;
      T* const sum = sums_.data() + row * width;
      const T* const each = x + static_cast<int64_t>(i) * width;
      has[static_cast<size_t>(row)] = 1;
      for (int64_t j = 0; j < width; ++j) {
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
template SLUICE_API decltype(SumRows<float>) SumRows<float>;
template SLUICE_API decltype(SumRows<double>) SumRows<double>;

}  // namespace sluice
