#include "sluice/operators/onednn/packed_reorder.h"

#include "sluice/platform/error.h"
#include "sluice/platform/library_call.h"

namespace sluice::onednn {

void RunReorder(const Compiled& reorder,
                const void* from,
                void* to,
                int threads) {
  const Desc scratch_desc = reorder.Wants(DNNL_ARG_SCRATCHPAD);
  Tensor scratch = PackedBytes(scratch_desc.get_size());
  const LibraryCall call(threads);
  Guarded("parameter", "reorder", [&] {
    dnnl::stream stream(Engine());
    // oneDNN has no type for read-only memory.
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
  // The reorder's address identifies it while this object exists.
  explicit ReorderPacking(CompiledPtr reorder)
      : Packing(
            Format("reorder {}", reinterpret_cast<uintptr_t>(reorder.get()))),
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

}  // namespace

PackingPtr PackByReorder(CompiledPtr reorder) {
  return std::make_shared<const ReorderPacking>(std::move(reorder));
}

}  // namespace sluice::onednn
