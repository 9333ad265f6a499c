#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sluice/framework/tensor.h"
#include "sluice/operators/onednn/primitive_cache.h"

namespace sluice::operators::onednn {

// A parameter in the layout that a primitive likes, made once for each version
// of its contents and shared by all plans that want the same. Immutable.
class PackedWeights {
 public:
  // Of which storage, and of which of its contents: Tensor::storage_version.
  using Version = std::pair<uint64_t, uint64_t>;

  // What `reorder` makes of `weights`; looked for among those that somebody
  // holds, else made with `threads` threads and counted as onednn.packed.
  // Thread-safe. Raises ResourceExhausted.
  static std::shared_ptr<const PackedWeights> Get(
      const framework::Tensor& weights,
      const CompiledPtr& reorder,
      int threads);

  const Version& version() const { return version_; }
  void* data() const { return data_; }

 private:
  PackedWeights(const framework::Tensor& weights,
                CompiledPtr reorder,
                int threads);

  Version version_;
  CompiledPtr reorder_;  // part of the key: it has to stay
  framework::Tensor storage_;
  void* data_ = nullptr;
};

}  // namespace sluice::operators::onednn
