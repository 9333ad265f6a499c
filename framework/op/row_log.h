#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

// Rows of tensors on the CPU as they were before a run changed them in place,
// so that a run that fails can take its changes back. Keeps its memory for the
// next run. Used by one thread at a time.
class SLUICE_API RowLog {
 public:
  // Copies rows of a tensor of rank 1 or more. Raises ResourceExhausted.
  void Save(const Tensor& tensor, std::span<const int64_t> rows);
  // Writes back what was saved, the latest first, and forgets it.
  void TakeBack() noexcept;
  void Forget() noexcept;

 private:
  struct Entry {
    Tensor tensor;
    std::vector<int64_t> rows;
    std::vector<std::byte> bytes;
  };
  std::vector<Entry> entries_;
  size_t used_ = 0;
};

}  // namespace sluice
