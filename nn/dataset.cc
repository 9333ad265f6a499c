#include "sluice/nn/dataset.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "sluice/platform/error.h"

namespace sluice::nn {

TensorDataset::TensorDataset(Feeds tensors) : tensors_(std::move(tensors)) {
  SLUICE_ENFORCE(!tensors_.empty(), ErrorCode::kInvalidArgument,
                 "nn.dataset_empty", "a dataset needs at least one tensor");
  for (const auto& [name, tensor] : tensors_) {
    SLUICE_ENFORCE(tensor.allocated() && tensor.dims().rank() > 0,
                   ErrorCode::kInvalidArgument, "nn.dataset_rows",
                   "dataset: {} must be a tensor with rows, got {}", name,
                   tensor.allocated() ? ToString(tensor) : "an empty one");
    SLUICE_ENFORCE(tensor.place() == PlaceKey(), ErrorCode::kInvalidArgument,
                   "nn.dataset_place", "dataset: {} must be on the CPU, got {}",
                   name, tensor);
    const auto& [first, tensor_0] = tensors_[0];
    size_ = tensor_0.dims()[0];
    SLUICE_ENFORCE(tensor.dims()[0] == size_, ErrorCode::kInvalidArgument,
                   "nn.dataset_sizes", "dataset: {} has {} rows, but {} has {}",
                   name, tensor.dims()[0], first, size_);
  }
}

TensorDataset TensorDataset::Slice(int64_t begin, int64_t end) const {
  SLUICE_ENFORCE(0 <= begin && begin <= end && end <= size_,
                 ErrorCode::kOutOfRange, "nn.dataset_slice",
                 "dataset: there are no rows [{}, {}) in {} rows", begin, end,
                 size_);
  TensorDataset part(*this);
  for (auto& [name, tensor] : part.tensors_) {
    tensor = tensor.Slice(begin, end);
  }
  part.size_ = end - begin;
  return part;
}

Feeds TensorDataset::Gather(const std::vector<int64_t>& rows) const {
  for (const int64_t row : rows) {
    SLUICE_ENFORCE(row >= 0 && row < size_, ErrorCode::kOutOfRange,
                   "nn.dataset_row", "dataset: there is no row {} in {} rows",
                   row, size_);
  }
  Feeds feeds;
  for (const auto& [name, tensor] : tensors_) {
    DDim dims = tensor.dims();
    dims[0] = static_cast<int64_t>(rows.size());
    Tensor part;
    part.Resize(dims);
    auto* to = static_cast<char*>(part.mutable_data(tensor.dtype(), {}));
    const auto* from = static_cast<const char*>(tensor.raw_data());
    const size_t bytes =
        size_ == 0 ? 0 : tensor.bytes() / static_cast<size_t>(size_);
    for (const int64_t row : rows) {
      if (bytes == 0) break;  // there may be no memory to copy
      std::memcpy(to, from + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
    feeds.emplace_back(name, std::move(part));
  }
  return feeds;
}

Batches::Batches(TensorDataset dataset,
                 const BatchOptions& options,
                 int64_t epoch)
    : dataset_(std::move(dataset)),
      batch_size_(options.batch_size),
      count_(0),
      order_(static_cast<size_t>(dataset_.size())) {
  SLUICE_ENFORCE(batch_size_ > 0, ErrorCode::kInvalidArgument, "nn.batch_size",
                 "batch_size must be above 0, got {}", batch_size_);
  count_ = dataset_.size() / batch_size_;
  if (!options.drop_last && dataset_.size() % batch_size_ != 0) ++count_;
  std::iota(order_.begin(), order_.end(), 0);
  if (!options.shuffle) return;
  // std::shuffle gives another order with each standard library.
  std::mt19937_64 random(options.seed * 0x9E3779B97F4A7C15U +
                         static_cast<uint64_t>(epoch));
  for (size_t i = order_.size(); i > 1; --i) {
    std::swap(order_[i - 1], order_[random() % i]);
  }
}

Feeds Batches::operator[](int64_t batch) const {
  SLUICE_ENFORCE(batch >= 0 && batch < count_, ErrorCode::kOutOfRange,
                 "nn.batch", "there is no batch {} in {} batches", batch,
                 count_);
  const auto begin = order_.begin() + batch * batch_size_;
  const int64_t rows = std::min(batch_size_, order_.end() - begin);
  return dataset_.Gather({begin, begin + rows});
}

}  // namespace sluice::nn
