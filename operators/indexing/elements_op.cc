#include <algorithm>

#include "sluice/operators/indexing/scatter_schema.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

// gather_elements and scatter_elements: Index has an index for each element.
namespace sluice {
namespace {

// Checks Index and returns its shape. A scalar X has an axis, as in PyTorch.
DDim IndexDims(const InferShapeContext& context) {
  const ShapeHandle x = context.input("X");
  const ShapeHandle index = context.input("Index");
  if (!x.dims.rank_known()) return index;
  const auto axis = context.Attr<int64_t>("axis");
  const int axes = std::max(x.rank(), 1);
  context.Require(axis >= -axes && axis < axes, "elements.axis",
                  "attribute axis = {}; expected a dim of input X {}, from {} "
                  "to {}",
                  axis, x.dims, -axes, axes - 1);
  const DDim dims = context.WithRank(index, x.rank());
  const int64_t at = axis < 0 ? axis + x.rank() : axis;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == at || dims[i] < 0 || x.dims[i] < 0) continue;
    context.Require(dims[i] <= x.dims[i], "elements.index_shape",
                    "input Index {} is longer in dim {} than input X {}; only "
                    "dim {} (axis) may be",
                    dims, i, x.dims, at);
  }
  return dims;
}

void AxisAttribute(OpSchema& op) {
  op.Attr<int64_t>("axis",
                   "The dim of X that indices are for; a negative one counts "
                   "from the end.")
      .Default(int64_t{0});
}

void IndexInput(OpSchema& op) {
  op.Input("Index", "S",
           "In the rank of X, and no longer than X but along `axis`: each from "
           "0 to the size of that dim of X less one; negative ones count from "
           "the end; checked when the op runs.");
}

void GatherElementsSchema(OpSchema& op) {
  op.Doc(
      "Picks an element of X for each element of Index, at the same place but "
      "for one dim: Out[i, j] = X[Index[i, j], j] for axis 0.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to pick from.");
  IndexInput(op);
  op.Output("Out", "T", "In the shape of Index.");
  AxisAttribute(op);
  op.InferShape(OutShape<IndexDims>);
  op.SharesRows("Out", {"X", "Index"}, AxisSparesRows);
  op.Onnx({"GatherElements", {}}).Torch("torch.gather(X, axis, Index)");
}

constexpr GradientOp kGatherElementsGrad = {
    .forward = GatherElementsSchema,
    .doc =
        "The gradient of gather_elements: each element of X gets the sum of "
        "the gradients of those picked from it, in the order of Index.",
    .inputs = {ShapeOf("X"), "Index"},
    .dims = IndexDims};

void ScatterElementsSchema(OpSchema& op) {
  op.Doc(
      "X with an update at the place that each element of Index names: "
      "Out[Index[i, j], j] = Updates[i, j] for axis 0, in the order of i.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to change.");
  IndexInput(op);
  op.Input("Updates", "T", "In the shape of Index.");
  op.Output("Out", "T", "In the shape of X.");
  AxisAttribute(op);
  AddReductionAttribute(op);
  op.InferShape(ScatterShape<IndexDims>).Gradient(ScatterGradient);
  op.Onnx({"ScatterElements", {}});
}

void ScatterElementsGradSchema(OpSchema& op) {
  op.Doc(
      "The gradients of scatter_elements: that of Out for X, without the "
      "places that were replaced; for Updates what Out has at their places, "
      "and 0 where another update came later.");
  AddScatterGradArguments(op, {"none", "add"});
  AxisAttribute(op);
  op.InferShape(ScatterGradShape<IndexDims>);
}

void ScatterElementsReduceGradSchema(OpSchema& op) {
  op.Doc(ReduceGradDoc("scatter_elements"));
  AddScatterGradArguments(op, {"mul", "max", "min"});
  AxisAttribute(op);
  op.InferShape(ScatterGradShape<IndexDims>);
}

}  // namespace

REGISTER_OPERATOR(gather_elements, WithGradient<kGatherElementsGrad>);
REGISTER_OPERATOR(gather_elements_grad, GradientSchema<kGatherElementsGrad>);
REGISTER_OPERATOR(scatter_elements, ScatterElementsSchema);
REGISTER_OPERATOR(scatter_elements_grad, ScatterElementsGradSchema);
REGISTER_OPERATOR(scatter_elements_reduce_grad,
                  ScatterElementsReduceGradSchema);

}  // namespace sluice
