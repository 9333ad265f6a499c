#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/op_registry.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::DimHandle;
using framework::InferShapeContext;
using framework::OpSchema;
using framework::ShapeHandle;
using platform::DType;

void BiasAddShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  const ShapeHandle bias = context.WithRank(context.input("Bias"), 1);
  const bool nchw = context.Attr<std::string>("data_format") == "NCHW";
  const DimHandle channels =
      context.Merge(context.Dim(x, nchw ? 1 : -1), context.Dim(bias, 0));
  DDim out = x;
  if (out.rank_known()) out[nchw ? 1 : out.rank() - 1] = channels.size;
  context.SetOutput("Out", out);
}

void BiasAddSchema(OpSchema& op) {
  op.Doc("Adds one number to all elements of each channel.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16});
  op.Input("X", "T",
           "[N, C, ...] for NCHW, [N, ..., C] for NHWC, of rank 2 or more.");
  op.Input("Bias", "T", "[C]: the numbers.");
  op.Output("Out", "T", "The sum, in X's shape.");
  op.Attr<std::string>("data_format",
                       "Where the channels are: dim 1 for NCHW, the last one "
                       "for NHWC.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(BiasAddShape);
}

}  // namespace

REGISTER_OPERATOR(bias_add, BiasAddSchema);

}  // namespace sluice::operators
