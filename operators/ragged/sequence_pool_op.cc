#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

bool IsMax(const InferShapeContext& context) {
  return context.Attr<std::string>("pooltype") == "MAX";
}

bool Reduces(const InferShapeContext& context) {
  return context.op().starts_with("sequence_reduce");
}

// A row for each sequence, or one without its dim.
DDim OutDims(const InferShapeContext& context) {
  const int64_t count = SequenceCount(context);
  DDim out = RowsOf(context);
  if (!Reduces(context)) return WithRowCount(out, count);
  if (out.rank_known()) out.RemoveDimRange(0, 1);
  return out;
}

void PoolShape(InferShapeContext& context) {
  const DDim out = OutDims(context);
  context.SetOutput("Out", out);
  context.SetOutput("MaxIndex", IsMax(context) ? out : DDim{0});
}

void PoolGradShape(InferShapeContext& context) {
  const DDim out = OutDims(context);
  context.Merge(context.input("Out@GRAD"), {out, -1});
  if (IsMax(context)) context.Merge(context.input("MaxIndex"), {out, -1});
  context.SetOutput("X@GRAD", context.input("X"));
}

std::vector<OpDesc> PoolGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, forward.type + "_grad",
                     {.inputs = {"X", "Offsets"},
                      .outputs = {"MaxIndex"},
                      .output_grads = {"Out"},
                      .wanted = {"X"}})};
}

void ReduceAttributes(OpSchema& op) {
  op.Attr<std::string>("pooltype", "SUM, AVERAGE or MAX.")
      .Default("SUM")
      .OneOf({"SUM", "AVERAGE", "MAX"});
  op.Attr<double>("pad_value", "Out without rows.").Default(0.0);
}

void Attributes(OpSchema& op) {
  op.Attr<std::string>("pooltype",
                       "SUM, AVERAGE; SQRT: the sum over the square root of "
                       "the length; MAX; FIRST, LAST: a row.")
      .Default("AVERAGE")
      .OneOf({"SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"});
  op.Attr<double>("pad_value", "Out for an empty sequence.").Default(0.0);
}

void PoolSchema(OpSchema& op) {
  op.Doc(
      "One row for each sequence, of its rows, column by column. Sums are "
      "added in double precision, from the first row to the last. NaN is the "
      "maximum.");
  op.TypeVar("T",
             {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "[N, ...]: ragged rows; AVERAGE and SQRT of floats only.");
  OffsetsInput(op);
  op.Output("Out", "T", "[B, ...].");
  op.Output("MaxIndex", "int64",
            "[B, ...] for MAX: the first row that has it; -1 for an empty "
            "sequence. Else [0].");
  Attributes(op);
  op.PerSequence("Out", "Offsets").PerSequence("MaxIndex", "Offsets");
  op.InferShape(PoolShape).Gradient(PoolGradient);
}

void ReduceSchema(OpSchema& op) {
  op.Doc(
      "All rows of all sequences as one, as sequence_pool does it: a reduction "
      "over dim 0 that leaves padding out.");
  op.TypeVar("T",
             {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "[N, ...]: ragged rows; AVERAGE of floats only.");
  OffsetsInput(op);
  op.Output("Out", "T", "[...].");
  op.Output("MaxIndex", "int64", "[...] for MAX: the first row. Else [0].");
  ReduceAttributes(op);
  op.InferShape(PoolShape).Gradient(PoolGradient);
}

void GradArguments(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "As the forward op had it.", {.shape_only = true});
  OffsetsInput(op);
  op.Input("MaxIndex", "int64", "What the forward op gave.");
  op.Input("Out@GRAD", "T", "The gradient of Out, in its shape.");
  op.Output("X@GRAD", "T", "In X's shape.");
  op.InferShape(PoolGradShape);
}

void PoolGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of sequence_pool; 0 for padding, and of MAX for all but "
      "the row that MaxIndex says.");
  GradArguments(op);
  Attributes(op);
}

void ReduceGradSchema(OpSchema& op) {
  op.Doc("The gradient of sequence_reduce; 0 for padding.");
  GradArguments(op);
  ReduceAttributes(op);
}

}  // namespace

REGISTER_OPERATOR(sequence_pool, PoolSchema);
REGISTER_OPERATOR(sequence_pool_grad, PoolGradSchema);
REGISTER_OPERATOR(sequence_reduce, ReduceSchema);
REGISTER_OPERATOR(sequence_reduce_grad, ReduceGradSchema);

}  // namespace sluice
