#include "sluice/framework/run/ragged_feeds.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "sluice/framework/program/ragged_rows.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

const Tensor* FindFeed(const Feeds& feeds, std::string_view name) {
  for (const auto& [fed, tensor] : feeds) {
    if (fed == name) return &tensor;
  }
  return nullptr;
}

bool OnHost(const Tensor* tensor) {
  return tensor != nullptr && tensor->allocated() &&
         tensor->place() == PlaceKey(CPUPlace());
}

DDim WithRows(DDim dims, int64_t rows) {
  std::vector<int64_t> sizes(dims.begin(), dims.end());
  sizes[0] = rows;
  return DDim(sizes);
}

}  // namespace

Feeds PackSequences(const std::string& name,
                    const std::vector<Tensor>& sequences) try {
  SLUICE_ENFORCE(
      !sequences.empty(), ErrorCode::kInvalidArgument, "ragged.no_sequences",
      "feed {}: expected at least one sequence, got none", Shown(name));
  std::vector<int64_t> offsets = {0};
  const Tensor& first = sequences[0];
  for (const Tensor& each : sequences) {
    SLUICE_ENFORCE(
        OnHost(&each) && each.dtype() == first.dtype() &&
            each.dims().rank() > 0 &&
            WithRows(each.dims(), 0) == WithRows(first.dims(), 0),
        ErrorCode::kInvalidArgument, "ragged.sequence",
        "feed {}: expected sequences on the CPU that differ in dim 0 "
        "only; number 0 is {} {}, number {} is {} {}",
        Shown(name), first.dtype(), first.dims(), offsets.size() - 1,
        each.dtype(), each.dims());
    offsets.push_back(offsets.back() + each.dims()[0]);
  }
  Tensor rows;
  rows.Resize(WithRows(first.dims(), RowCapacity(offsets.back())));
  auto* to = static_cast<char*>(rows.mutable_data(first.dtype(), CPUPlace()));
  for (const Tensor& each : sequences) {
    if (each.bytes() == 0) continue;
    std::memcpy(to, each.raw_data(), each.bytes());
    to += each.bytes();
  }
  if (rows.bytes() > 0) {
    const size_t row = rows.bytes() / static_cast<size_t>(rows.dims()[0]);
    char* end = static_cast<char*>(rows.raw_data()) + rows.bytes();
    for (; to < end; to += row) {
      std::memcpy(to, to - row, row);
    }
  }
  const auto size = static_cast<int64_t>(offsets.size());
  return {{name, std::move(rows)},
          {name + std::string(kOffsetsSuffix),
           Tensor::FromVector<int64_t>({size}, offsets)}};
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::vector<Tensor> UnpackSequences(const Tensor& rows, const Tensor& offsets) {
  CheckOffsets("rows", offsets, rows.dims()[0]);
  const int64_t* bounds = offsets.data<int64_t>();
  std::vector<Tensor> sequences;
  for (int64_t b = 0; b + 1 < offsets.numel(); ++b) {
    sequences.push_back(rows.Slice(bounds[b], bounds[b + 1]));
  }
  return sequences;
}

void CheckOffsets(std::string_view name, const Tensor& offsets, int64_t rows) {
  SLUICE_ENFORCE(offsets.dtype() == DType::kInt64 &&
                     offsets.dims().rank() == 1 && offsets.numel() > 0,
                 ErrorCode::kInvalidArgument, "ragged.offsets",
                 "the offsets of {} must be int64 [sequences + 1], got {} {}",
                 name, offsets.dtype(), offsets.dims());
  const int64_t* bounds = offsets.data<int64_t>();
  const int64_t last = offsets.numel() - 1;
  SLUICE_ENFORCE(bounds[0] == 0, ErrorCode::kInvalidArgument,
                 "ragged.offsets_start",
                 "the offsets of {} must start at 0, got {}", name, bounds[0]);
  for (int64_t b = 0; b < last; ++b) {
    SLUICE_ENFORCE(bounds[b] <= bounds[b + 1], ErrorCode::kInvalidArgument,
                   "ragged.offsets_fall",
                   "the offsets of {} must not fall: offsets[{}] = {}, "
                   "offsets[{}] = {}",
                   name, b, bounds[b], b + 1, bounds[b + 1]);
  }
  SLUICE_ENFORCE(bounds[last] <= rows, ErrorCode::kInvalidArgument,
                 "ragged.offsets_end",
                 "the offsets of {} end at {}, past its {} rows", name,
                 bounds[last], rows);
}

void CheckRaggedFeeds(const Program& program, const Feeds& feeds) {
  for (const auto& [name, rows] : feeds) {
    const VarDesc* var = program.block().FindVar(name);
    if (var == nullptr || var->offsets.empty() || !rows.allocated()) continue;
    const Tensor* offsets = FindFeed(feeds, var->offsets);
    if (!OnHost(offsets) || rows.dims().rank() < 1) continue;
    // Offsets of sequences have one number more than there are sequences.
    const bool nested = name.ends_with(kOffsetsSuffix);
    CheckOffsets(name, *offsets, rows.dims()[0] - (nested ? 1 : 0));
  }
  for (const auto& [a, b] : program.equal_offsets()) {
    const Tensor* first = FindFeed(feeds, a);
    const Tensor* second = FindFeed(feeds, b);
    if (!OnHost(first) || !OnHost(second)) continue;
    const bool equal = first->bytes() == second->bytes() &&
                       (first->bytes() == 0 ||
                        std::memcmp(first->raw_data(), second->raw_data(),
                                    first->bytes()) == 0);
    SLUICE_ENFORCE(
        equal, ErrorCode::kInvalidArgument, "ragged.offsets_differ",
        "feeds {} and {} must have sequences of the same lengths: an "
        "op reads the rows of both",
        a.substr(0, a.size() - kOffsetsSuffix.size()),
        b.substr(0, b.size() - kOffsetsSuffix.size()));
  }
}

}  // namespace sluice
