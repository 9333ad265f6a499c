#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/crf_shape.h"

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

}  // namespace

REGISTER_OPERATOR(crf_decoding, DecodingSchema);

}  // namespace sluice
