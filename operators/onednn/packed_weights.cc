#include "sluice/operators/onednn/packed_weights.h"

#include <map>
#include <mutex>
#include <tuple>

#include "sluice/platform/counters.h"
#include "sluice/platform/library_call.h"

namespace sluice::operators::onednn {

using framework::Tensor;

namespace {

using Key = std::tuple<uint64_t, uint64_t, const Compiled*>;

struct Table {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const PackedWeights>> packed;
};

Table& TheTable() {
  static auto* table = new Table;
  return *table;
}

void* Allocate(size_t bytes, Tensor* tensor) {
  tensor->Resize({static_cast<int64_t>(bytes)});
  return tensor->mutable_data<uint8_t>(platform::CPUPlace());
}

}  // namespace

PackedWeights::PackedWeights(const Tensor& weights,
                             CompiledPtr reorder,
                             int threads)
    : version_(weights.storage_version()), reorder_(std::move(reorder)) {
  Tensor scratch;
  const Desc scratch_desc = reorder_->Wants(DNNL_ARG_SCRATCHPAD);
  data_ = Allocate(reorder_->Wants(DNNL_ARG_DST).get_size(), &storage_);
  void* const scratch_data = scratch_desc.get_size() == 0
                                 ? nullptr
                                 : Allocate(scratch_desc.get_size(), &scratch);
  const platform::LibraryCall call(threads);
  Guarded("parameter", "reorder", [&] {
    dnnl::stream stream(Engine());
    reorder_->primitive.execute(
        stream,
        {{DNNL_ARG_SRC, Memory(reorder_->Wants(DNNL_ARG_SRC), Engine(),
                               const_cast<void*>(weights.raw_data()))},
         {DNNL_ARG_DST, Memory(reorder_->Wants(DNNL_ARG_DST), Engine(), data_)},
         {DNNL_ARG_SCRATCHPAD, Memory(scratch_desc, Engine(), scratch_data)}});
  });
  ++platform::Counter("onednn.packed");
}

std::shared_ptr<const PackedWeights> PackedWeights::Get(
    const Tensor& weights, const CompiledPtr& reorder, int threads) {
  const Version version = weights.storage_version();
  const Key key{version.first, version.second, reorder.get()};
  Table& table = TheTable();
  // Held while packing: who comes second waits, and shares what was made.
  const std::lock_guard<std::mutex> lock(table.mutex);
  if (auto packed = table.packed[key].lock()) return packed;
  std::erase_if(table.packed,
                [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<const PackedWeights> packed(
      new PackedWeights(weights, reorder, threads));
  table.packed[key] = packed;
  return packed;
}

}  // namespace sluice::operators::onednn
