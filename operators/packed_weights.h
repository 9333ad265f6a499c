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

namespace sluice {

// Converts parameters to the form that a kernel uses. Immutable; any thread may
// use it.
class SLUICE_API Packing {
 public:
  virtual ~Packing();
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  // Two packings with the same key return equal results for equal parameters.
  const std::string& key() const { return key_; }
  // Raises ResourceExhausted.
  virtual Tensor Make(std::span<const Tensor* const> parameters,
                      int threads) const = 0;

 protected:
  explicit Packing(std::string key) : key_(std::move(key)) {}

 private:
  std::string key_;
};
using PackingPtr = std::shared_ptr<const Packing>;

// Returns a tensor of `bytes` bytes.
SLUICE_API Tensor PackedBytes(size_t bytes);

// The maximum number of parameters of one packing.
inline constexpr size_t kMaxPackedParameters = 5;

// Parameters in the form that a kernel uses. They are packed once for each
// version of their contents and shared by all plans. Immutable.
class SLUICE_API PackedWeights {
 public:
  // The storage, the version of its contents (Tensor::storage_version), and the
  // address of the parameter in it.
  using Version = std::tuple<uint64_t, uint64_t, const void*>;

  // Returns the result of `packing` for `parameters`: an existing one if it is
  // still in use, otherwise a new one, packed by `threads` threads and counted
  // as weights.packed. Thread-safe. Raises ResourceExhausted.
  static std::shared_ptr<const PackedWeights> Get(
      std::span<const Tensor* const> parameters,
      const PackingPtr& packing,
      int threads);

  // Replaces *packed, which may be nullptr, unless it is the result for the
  // present contents of these parameters.
  static void Renew(std::span<const Tensor* const> parameters,
                    const PackingPtr& packing,
                    int threads,
                    std::shared_ptr<const PackedWeights>* packed);

  // Non-const for oneDNN's memory handles; the data is never written.
  void* data() const { return data_; }

 private:
  PackedWeights(std::vector<Version> versions,
                PackingPtr packing,
                Tensor storage);

  std::vector<Version> versions_;  // by parameter
  PackingPtr packing_;             // keeps its key reserved
  Tensor storage_;
  void* data_ = nullptr;
};

// The last result of a kernel's packing. Any thread may use it.
class SLUICE_API KeptWeights {
 public:
  KeptWeights(PackingPtr packing, int threads)
      : packing_(std::move(packing)), threads_(threads) {}

  // Returns the packed parameters. Packs again if one has changed.
  std::shared_ptr<const PackedWeights> Get(
      std::span<const Tensor* const> parameters) const;

 private:
  PackingPtr packing_;
  int threads_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const PackedWeights> packed_;
};

}  // namespace sluice
