#include "sluice/operators/onednn/packed_weights.h"

#include <map>
#include <mutex>

#include "sluice/platform/counters.h"
#include "sluice/platform/error.h"
#include "sluice/platform/library_call.h"

namespace sluice::operators::onednn {

using framework::Tensor;

Packing::~Packing() = default;

Tensor PackedBytes(size_t bytes) {
  Tensor tensor;
  tensor.Resize({static_cast<int64_t>(bytes)});
  tensor.mutable_data<uint8_t>(platform::CPUPlace());
  return tensor;
}

void RunReorder(const Compiled& reorder,
                const void* from,
                void* to,
                int threads) {
  const Desc scratch_desc = reorder.Wants(DNNL_ARG_SCRATCHPAD);
  Tensor scratch = PackedBytes(scratch_desc.get_size());
  const platform::LibraryCall call(threads);
  Guarded("parameter", "reorder", [&] {
    dnnl::stream stream(Engine());
    // oneDNN has no memory that it only reads.
    reorder.primitive.execute(
        stream,
        {{DNNL_ARG_SRC, Memory(reorder.Wants(DNNL_ARG_SRC), Engine(),
                               const_cast<void*>(from))},
         {DNNL_ARG_DST, Memory(reorder.Wants(DNNL_ARG_DST), Engine(), to)},
         {DNNL_ARG_SCRATCHPAD,
          Memory(scratch_desc, Engine(), scratch.raw_data())}});
  });
}

namespace {

class ReorderPacking final : public Packing {
 public:
  // The address names the reorder for as long as this lives.
  explicit ReorderPacking(CompiledPtr reorder)
      : Packing(platform::Format("reorder {}",
                                 reinterpret_cast<uintptr_t>(reorder.get()))),
        reorder_(std::move(reorder)) {}

  Tensor Make(std::span<const Tensor* const> parameters,
              int threads) const override {
    Tensor packed = PackedBytes(reorder_->Wants(DNNL_ARG_DST).get_size());
    RunReorder(*reorder_, parameters[0]->raw_data(), packed.raw_data(),
               threads);
    return packed;
  }

 private:
  CompiledPtr reorder_;
};

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

PackingPtr PackByReorder(CompiledPtr reorder) {
  return std::make_shared<const ReorderPacking>(std::move(reorder));
}

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
    key.first.push_back(parameter->storage_version());
  }
  Table& table = TheTable();
  // Held while packing: who comes second waits, and shares what was made.
  const std::lock_guard<std::mutex> lock(table.mutex);
  if (auto packed = table.packed[key].lock()) return packed;
  std::erase_if(table.packed,
                [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<const PackedWeights> packed(new PackedWeights(
      key.first, packing, packing->Make(parameters, threads)));
  ++platform::Counter("onednn.packed");
  table.packed[std::move(key)] = packed;
  return packed;
}

}  // namespace sluice::operators::onednn
