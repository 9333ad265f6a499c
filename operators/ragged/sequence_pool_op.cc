#include "sluice/operators/op_gradients.h"
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
  op.Attr<std::string>("pooltype",
                       "SUM, AVERAGE; SQRT: the sum over the square root of "
                       "the length; MAX; FIRST, LAST: a row.")
      .Default("AVERAGE")
      .OneOf({"SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"});
  op.Attr<double>("pad_value", "Out for an empty sequence.").Default(0.0);
  op.PerSequence("Out", "Offsets").PerSequence("MaxIndex", "Offsets");
  op.InferShape(PoolShape);
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
  op.Attr<std::string>("pooltype", "SUM, AVERAGE or MAX.")
      .Default("SUM")
      .OneOf({"SUM", "AVERAGE", "MAX"});
  op.Attr<double>("pad_value", "Out without rows.").Default(0.0);
  op.InferShape(PoolShape);
}

constexpr GradientOp kSequencePoolGrad = {
    .forward = PoolSchema,
    .doc =
        "The gradient of sequence_pool; 0 for padding, and of MAX for all but "
        "the row that MaxIndex says.",
    .inputs = {ShapeOf("X"), "Offsets"},
    .outputs = {"MaxIndex"},
    .shape = PoolGradShape};

constexpr GradientOp kSequenceReduceGrad = {
    .forward = ReduceSchema,
    .doc = "The gradient of sequence_reduce; 0 for padding.",
    .inputs = {ShapeOf("X"), "Offsets"},
    .outputs = {"MaxIndex"},
    .shape = PoolGradShape};

}  // namespace

REGISTER_OPERATOR(sequence_pool, WithGradient<kSequencePoolGrad>);
REGISTER_OPERATOR(sequence_pool_grad, GradientSchema<kSequencePoolGrad>);
REGISTER_OPERATOR(sequence_reduce, WithGradient<kSequenceReduceGrad>);
REGISTER_OPERATOR(sequence_reduce_grad, GradientSchema<kSequenceReduceGrad>);

}  // namespace sluice
