#include "sluice/operators/packed_weights.h"

#include <map>
#include <mutex>

#include "sluice/platform/diagnostics/counters.h"

namespace sluice {

Packing::~Packing() = default;

Tensor PackedBytes(size_t bytes) {
  Tensor tensor;
  tensor.Resize({static_cast<int64_t>(bytes)});
  tensor.mutable_data<uint8_t>(CPUPlace());
  return tensor;
}

namespace {

PackedWeights::Version VersionOf(const Tensor& parameter) {
  return std::tuple_cat(parameter.storage_version(),
                        std::make_tuple(parameter.raw_data()));
}

using Key = std::pair<std::vector<PackedWeights::Version>, std::string>;

struct Table {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const PackedWeights>> packed;
};

Table& TheTable() {
  static auto* table = new Table;
  return *table;
}

}  // namespace

PackedWeights::PackedWeights(std::vector<Version> versions,
                             PackingPtr packing,
                             Tensor storage)
    : versions_(std::move(versions)),
      packing_(std::move(packing)),
      storage_(std::move(storage)),
      data_(storage_.raw_data()) {}

std::shared_ptr<const PackedWeights> PackedWeights::Get(
    std::span<const Tensor* const> parameters,
    const PackingPtr& packing,
    int threads) {
  Key key{{}, packing->key()};
  key.first.reserve(parameters.size());
  for (const Tensor* parameter : parameters) {
    key.first.push_back(VersionOf(*parameter));
  }
  Table& table = TheTable();
  // Held while packing: a second thread waits and shares the result.
  const std::lock_guard<std::mutex> lock(table.mutex);
  if (auto packed = table.packed[key].lock()) return packed;
  std::erase_if(table.packed,
                [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<const PackedWeights> packed(new PackedWeights(
      key.first, packing, packing->Make(parameters, threads)));
  ++Counter("weights.packed");
  table.packed[std::move(key)] = packed;
  return packed;
}

void PackedWeights::Renew(std::span<const Tensor* const> parameters,
                          const PackingPtr& packing,
                          int threads,
                          std::shared_ptr<const PackedWeights>* packed) {
  bool current = *packed != nullptr;
  for (size_t i = 0; current && i < parameters.size(); ++i) {
    current = (*packed)->versions_[i] == VersionOf(*parameters[i]);
  }
  if (!current) *packed = Get(parameters, packing, threads);
}

std::shared_ptr<const PackedWeights> KeptWeights::Get(
    std::span<const Tensor* const> parameters) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  PackedWeights::Renew(parameters, packing_, threads_, &packed_);
  return packed_;
}

}  // namespace sluice
