#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// Reads a .npy file of numbers or bools, as numpy.save writes it. Raises
// NotFound for a file that cannot be opened, DataLoss for one that is cut off
// or no .npy file, Unimplemented for an array of another kind (strings,
// objects, big-endian numbers, Fortran's order).
SLUICE_API Tensor ReadNpy(const std::string& path);

// Tensors on the host whose rows, along the first dim, are the examples: each
// with the name of the variable that it is fed to. Copies share the memory.
class SLUICE_API TensorDataset {
 public:
  // Raises InvalidArgument for no tensor, for one without dims and for unequal
  // numbers of rows.
  explicit TensorDataset(Feeds tensors);

  int64_t size() const { return size_; }
  // Everything, as one batch.
  const Feeds& feeds() const { return tensors_; }
  // Rows [begin, end), which share the memory. Raises OutOfRange.
  TensorDataset Slice(int64_t begin, int64_t end) const;
  // The first `count` rows, and the others. Raises OutOfRange.
  std::pair<TensorDataset, TensorDataset> Split(int64_t count) const {
    return {Slice(0, count), Slice(count, size_)};
  }
  // A copy of these rows. Raises OutOfRange.
  Feeds Gather(const std::vector<int64_t>& rows) const;

 private:
  Feeds tensors_;
  int64_t size_ = 0;
};

struct BatchOptions {
  int64_t batch_size = 32;
  bool shuffle = true;  // a new order in each epoch, by `seed` and its number
  bool drop_last = false;  // whether a last batch with fewer rows is left out
  uint64_t seed = 0;
};

// The batches of one epoch. Equal seeds and epochs give equal batches on every
// machine.
//
//   const nn::Batches batches(dataset, {.batch_size = 50}, epoch);
//   for (int64_t i = 0; i < batches.size(); ++i)
//     executor.Run(program, batches[i], {}, &scope);
class SLUICE_API Batches {
 public:
  // Raises InvalidArgument for a batch size below 1.
  explicit Batches(TensorDataset dataset,
                   const BatchOptions& options = {},
                   int64_t epoch = 0);

  int64_t size() const { return count_; }
  // Raises OutOfRange.
  Feeds operator[](int64_t batch) const;

 private:
  TensorDataset dataset_;
  int64_t batch_size_;
  int64_t count_;
  std::vector<int64_t> order_;
};

}  // namespace sluice::nn
