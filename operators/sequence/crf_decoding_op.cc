#include <algorithm>

#include "sluice/operators/math/sequence/crf.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/crf_kernel.h"
#include "sluice/operators/sequence/crf_shape.h"
#include "sluice/platform/alignment.h"

namespace sluice {
namespace {

void DecodingShape(InferShapeContext& context) {
  context.SetOutput("ViterbiPath", CrfTagShape(context));
}

void DecodingSchema(OpSchema& op) {
  op.Doc(
      "The most probable tags of each sequence, by the weights that "
      "linear_chain_crf has learnt. Of equal ones those with the smallest "
      "last tag, then the smallest tag before it, and so on.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  CrfInputs(op);
  CrfLengths(op);
  op.Input("Label", "int64",
           "[B, T] or ragged [rows, 1]: tags to compare with.",
           {.optional = true});
  op.Output("ViterbiPath", "int64",
            "[B, T] or ragged [rows, 1]: the tags; with Label 1 where they are "
            "the same and 0 "
            "where not. 0 past the sequences' lengths.");
  op.Ragged("Label", "Offsets").Ragged("ViterbiPath", "Offsets");
  op.InferShape(DecodingShape);
}

template <typename T>
class CrfDecodingKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    sizes_ = CrfSizes(preparation.query);
    slots_ = std::clamp<int64_t>(preparation.num_threads, 1,
                                 std::max<int64_t>(sizes_.batch, 1));
    preparation.scratch_bytes = PairsBytes() + slots_ * SlotBytes();
  }

  void Compute(OpKernelContext& context) const override {
    const CrfSequences sequences = CrfSequencesOf(context, sizes_);
    const T* emission = context.Input("Emission").data<T>();
    const CrfWeights<T> weights = {context.Input("Transition").data<T>(),
                                   sizes_.tags};
    const int64_t* labels = context.HasInput("Label")
                                ? CrfLabelsOf(context, sizes_, sequences)
                                : nullptr;
    Tensor& out = context.AllocateOutput(
        "ViterbiPath", {sizes_.ragged ? sizes_.positions : sizes_.batch,
                        sizes_.ragged ? 1 : sizes_.positions});
    if (out.numel() == 0) return;
    auto* pairs = static_cast<double*>(context.scratch());
    CrfPairs(weights, pairs);
    ForEachSequence(slots_, sizes_.batch, [&](int64_t slot, int64_t b) {
      auto* scores =
          reinterpret_cast<double*>(static_cast<char*>(context.scratch()) +
                                    PairsBytes() + slot * SlotBytes());
      const int64_t first = sequences.first(b);
      const int64_t length = sequences.length(b);
      int64_t* path = out.data<int64_t>() + first;
      CrfDecode(weights, pairs, emission + first * sizes_.tags, length, path,
                scores, reinterpret_cast<int32_t*>(scores + 2 * stride()));
      for (int64_t t = 0; t < length && labels != nullptr; ++t) {
        path[t] = path[t] == labels[first + t] ? 1 : 0;
      }
      std::fill(path + length, path + sequences.room(b), 0);
    });
    if (sizes_.ragged) {
      RepeatLastRow(out.raw_data(), sequences.cut.rows(), sizes_.positions,
                    sizeof(int64_t));
    }
  }

 private:
  int64_t stride() const { return ViterbiStride(sizes_.tags); }
  size_t PairsBytes() const {
    return AlignUp(sizes_.tags * stride() * sizeof(double));
  }
  // Two rows of scores, and the tag that each score came from.
  size_t SlotBytes() const {
    const size_t back = sizes_.positions * stride() * sizeof(int32_t);
    return 2 * stride() * sizeof(double) + AlignUp(back);
  }

  CrfSizes sizes_;
  int64_t slots_ = 1;
};

KernelWork DecodingWork(const KernelQuery& query) {
  const CrfSizes sizes(query);
  KernelWork work = DefaultKernelWork(query);
  const auto tags = static_cast<double>(sizes.tags);
  const double rows = static_cast<double>(sizes.positions) *
                      static_cast<double>(sizes.ragged ? 1 : sizes.batch);
  // For each pair of tags a sum, a comparison, and two choices by it.
  work.flops = 4 * rows * tags * tags;
  work.max_threads = std::max(1.0, static_cast<double>(sizes.batch));
  return work;
}

}  // namespace

REGISTER_OPERATOR(crf_decoding, DecodingSchema);
REGISTER_OP_CPU_KERNEL(crf_decoding,
                       EstimatedBy<&DecodingWork>,
                       CrfDecodingKernel<FloatTypes>);

}  // namespace sluice
