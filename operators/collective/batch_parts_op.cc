#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void BatchPartsShape(InferShapeContext& context) {
  DDim out = context.WithRankAtLeast(context.input("X"), 1);
  const auto parts = context.Attr<int64_t>("parts");
  if (out.rank_known()) {
    context.Require(out.rank() < DDim::kMaxRank, "batch_parts.rank",
                    "input X {} has rank {}; expected at most {}", out,
                    out.rank(), DDim::kMaxRank - 1);
    context.Require(out[0] < 0 || out[0] % parts == 0, "batch_parts.rows",
                    "the batch X {} cannot be divided into {} equal parts", out,
                    parts);
    if (out[0] >= 0) out[0] /= parts;
    out.InsertDim(0, parts);
  }
  context.SetOutput("Out", out);
}

void BatchPartsSchema(OpSchema& op) {
  op.Doc("Divides a batch of B rows into equal parts of B / parts rows.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "The batch: [B, ...]; `parts` divides B.");
  op.Output("Out", "T", "[parts, B / parts, ...].");
  op.Attr<int64_t>("parts", "How many parts there are.").AtLeast(1);
  op.InferShape(BatchPartsShape).Alias("Out", "X");
  op.NoGradient("it divides data, and gradients that exist already");
}

class BatchPartsKernel final : public CopyKernel<0> {
  using CopyKernel<0>::CopyKernel;
};

}  // namespace

REGISTER_OPERATOR(batch_parts, BatchPartsSchema);
REGISTER_OP_CPU_KERNEL(batch_parts, BatchPartsKernel);

}  // namespace sluice
