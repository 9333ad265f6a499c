#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/operators/onednn/primitive_cache.h"

namespace sluice::operators::onednn {

// What parameters are made into before a primitive uses them. Immutable; any
// thread may use it.
class Packing {
 public:
  virtual ~Packing();
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  // Two packings of one key make the same of the same parameters.
  const std::string& key() const { return key_; }
  // Raises ResourceExhausted.
  virtual framework::Tensor Make(
      std::span<const framework::Tensor* const> parameters,
      int threads) const = 0;

 protected:
  explicit Packing(std::string key) : key_(std::move(key)) {}

 private:
  std::string key_;
};
using PackingPtr = std::shared_ptr<const Packing>;

// One parameter in another layout.
PackingPtr PackByReorder(CompiledPtr reorder);

// Memory of so many bytes.
framework::Tensor PackedBytes(size_t bytes);
// Runs a reorder of its own, with memory for its scratchpad.
void RunReorder(const Compiled& reorder,
                const void* from,
                void* to,
                int threads);

// Parameters as a primitive likes them, made once for each version of their
// contents and shared by all plans that want the same. Immutable.
class PackedWeights {
 public:
  // Of which storage, and of which of its contents: Tensor::storage_version.
  using Version = std::pair<uint64_t, uint64_t>;

  // What `packing` makes of `parameters`; looked for among those that somebody
  // holds, else made with `threads` threads and counted as onednn.packed.
  // Thread-safe. Raises ResourceExhausted.
  static std::shared_ptr<const PackedWeights> Get(
      std::span<const framework::Tensor* const> parameters,
      const PackingPtr& packing,
      int threads);

  // Whether it was made of the i-th parameter as it is now.
  bool IsOf(size_t i, const framework::Tensor& parameter) const {
    return versions_[i] == parameter.storage_version();
  }
  // As a memory handle wants it; nobody writes there.
  void* data() const { return data_; }

 private:
  PackedWeights(std::vector<Version> versions,
                PackingPtr packing,
                framework::Tensor storage);

  std::vector<Version> versions_;  // by parameter
  PackingPtr packing_;             // so that nobody else gets its key
  framework::Tensor storage_;
  void* data_ = nullptr;
};

}  // namespace sluice::operators::onednn
