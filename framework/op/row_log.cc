#include "sluice/framework/op/row_log.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

size_t RowBytes(const Tensor& tensor) {
  const int64_t rows = tensor.dims()[0];
  return rows == 0 ? 0 : tensor.bytes() / static_cast<size_t>(rows);
}

}  // namespace

void RowLog::Save(const Tensor& tensor, std::span<const int64_t> rows) try {
  if (used_ == entries_.size()) entries_.emplace_back();
  Entry& entry = entries_[used_];
  const size_t row = RowBytes(tensor);
  entry.tensor = tensor;
  entry.rows.assign(rows.begin(), rows.end());
  if (entry.bytes.size() < row * rows.size()) {
    entry.bytes.resize(row * rows.size());
  }
  const auto* from =
      static_cast<const std::byte*>(std::as_const(entry.tensor).raw_data());
  const int64_t grain = std::max<int64_t>(
      1, kGrain / std::max<int64_t>(1, static_cast<int64_t>(row)));
  ParallelFor(static_cast<int64_t>(rows.size()), grain,
              [&](int64_t begin, int64_t end) {
                for (auto i = static_cast<size_t>(begin);
                     i < static_cast<size_t>(end); ++i) {
                  std::memcpy(entry.bytes.data() + i * row,
                              from + static_cast<size_t>(rows[i]) * row, row);
                }
              });
  ++used_;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

void RowLog::TakeBack() noexcept {
  while (used_ > 0) {
    Entry& entry = entries_[--used_];
    const size_t row = RowBytes(entry.tensor);
    auto* to = static_cast<std::byte*>(entry.tensor.raw_data());
    for (size_t i = 0; i < entry.rows.size(); ++i) {
      std::memcpy(to + static_cast<size_t>(entry.rows[i]) * row,
                  entry.bytes.data() + i * row, row);
    }
    entry.tensor.Reset();
  }
}

void RowLog::Forget() noexcept {
  while (used_ > 0) {
    entries_[--used_].tensor.Reset();
  }
}

}  // namespace sluice
