#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::operators {

// What parameters are made into before a kernel uses them. Immutable; any
// thread may use it.
class SLUICE_API Packing {
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

// Memory of so many bytes.
SLUICE_API framework::Tensor PackedBytes(size_t bytes);

// What one packing is made of, at most.
inline constexpr size_t kMaxPackedParameters = 5;

// Parameters as a kernel likes them, made once for each version of their
// contents and shared by all plans that want the same. Immutable.
class SLUICE_API PackedWeights {
 public:
  // Of which storage, of which of its contents (Tensor::storage_version), and
  // where in it the parameter begins.
  using Version = std::tuple<uint64_t, uint64_t, const void*>;

  // What `packing` makes of `parameters`; looked for among those that somebody
  // holds, else made with `threads` threads and counted as weights.packed.
  // Thread-safe. Raises ResourceExhausted.
  static std::shared_ptr<const PackedWeights> Get(
      std::span<const framework::Tensor* const> parameters,
      const PackingPtr& packing,
      int threads);

  // Replaces *packed, which may be nullptr, where it was not made of these
  // parameters as they are now.
  static void Renew(std::span<const framework::Tensor* const> parameters,
                    const PackingPtr& packing,
                    int threads,
                    std::shared_ptr<const PackedWeights>* packed);

  // Not const, as a memory handle of oneDNN wants it; nobody writes there.
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

// What a kernel packed last. Any thread may use it.
class SLUICE_API KeptWeights {
 public:
  KeptWeights(PackingPtr packing, int threads)
      : packing_(std::move(packing)), threads_(threads) {}

  // Of the parameters as they are now: packed again where one has changed.
  std::shared_ptr<const PackedWeights> Get(
      std::span<const framework::Tensor* const> parameters) const;

 private:
  PackingPtr packing_;
  int threads_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const PackedWeights> packed_;
};

}  // namespace sluice::operators
