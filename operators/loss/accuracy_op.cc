#include <limits>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void AccuracyShape(InferShapeContext& context) {
  const ShapeHandle indices = context.WithRank(context.input("Indices"), 2);
  const ShapeHandle label = context.WithRankAtLeast(context.input("Label"), 1);
  if (label.rank() > 1) {
    context.WithRank(label, 2);
    context.WithValue(context.Dim(label, 1), 1);
  }
  const DimHandle rows =
      context.Merge(context.Dim(indices, 0), context.Dim(label, 0));
  context.Require(rows != 0, "accuracy.empty",
                  "input Label {} has no rows; expected 1 or more, the share "
                  "of right ones among none is not defined",
                  label.dims);
  context.Require(
      rows <= std::numeric_limits<int32_t>::max(), "accuracy.too_many",
      "input Label {} has more rows than an int32 counts", label.dims);
  for (const char* output : {"Accuracy", "Correct", "Total"}) {
    context.SetOutput(output, InferShapeContext::Vector(1));
  }
}

void AccuracySchema(OpSchema& op) {
  op.Doc(
      "The share of rows whose label is among the k labels predicted for it.");
  op.TypeVar("T", IndexDTypes());
  op.Input("Indices", "T", "[n, k]: the labels predicted for each row.");
  op.Input("Label", "T", "[n] or [n, 1]: the label of each row.");
  op.Output("Accuracy", "float32", "[1]: Correct / Total.");
  op.Output("Correct", "int32", "[1]: how many rows are right.");
  op.Output("Total", "int32", "[1]: n.");
  op.InferShape(AccuracyShape);
}

}  // namespace

REGISTER_OPERATOR(accuracy, AccuracySchema);

}  // namespace sluice
