#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out.
DDim JoinedDims(const InferShapeContext& context) {
  const auto given = context.Attr<int64_t>("axis");
  ShapeHandle out = InferShapeContext::UnknownShape();
  int64_t size = 0;
  int axis = 0;
  for (ShapeHandle x : context.inputs("X")) {
    if (!x.dims.rank_known()) {
      size = kUnknownDim;
      continue;
    }
    context.Require(given >= -x.rank() && given < x.rank(), "concat.axis",
                    "axis = {}; expected a dim of input X {}, from {} to {}",
                    given, x.dims, -x.rank(), x.rank() - 1);
    axis = static_cast<int>(given < 0 ? given + x.rank() : given);
    const int64_t own = x.dims[axis];
    const bool known = size >= 0 && own >= 0;
    const bool fits = !known || !__builtin_add_overflow(size, own, &size);
    context.Require(fits, "concat.overflow",
                    "the sizes of dim {} add up to more than 64 bits hold",
                    axis);
    if (!known) size = kUnknownDim;
    x.dims[axis] = kUnknownDim;
    out = context.Merge(out, x);
  }
  if (out.dims.rank_known()) out.dims[axis] = size;
  return out;
}

void ConcatGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {JoinedDims(context), -1});
  const auto index = context.Attr<int64_t>("index");
  const auto inputs = context.inputs("X");
  const auto count = static_cast<int64_t>(inputs.size());
  context.Require(index < count, "concat_grad.index",
                  "attribute index = {}; expected less than {}, the number of "
                  "inputs X",
                  index, count);
  context.SetOutput("X@GRAD", inputs[index]);
}

// There is a gradient op for each input.
std::vector<OpDesc> ConcatGradient(const OpDesc& forward) {
  std::vector<OpDesc> grads;
  for (const std::string& x : forward.Input("X")) {
    OpDesc& grad = grads.emplace_back(MakeGradOp(
        forward, "concat_grad", {.inputs = {"X"}, .output_grads = {"Out"}}));
    grad.attributes["index"] = static_cast<int64_t>(grads.size() - 1);
    grad.outputs = {{"X@GRAD", {GradName(x)}}};
  }
  return grads;
}

void AxisAttribute(OpSchema& op) {
  op.Attr<int64_t>("axis",
                   "The dim in which they follow each other; negative ones "
                   "count from the end.")
      .Default(int64_t{0});
  op.DimAttribute("axis");
}

void ConcatSchema(OpSchema& op) {
  op.Doc("One or more tensors, one after the other along one dimension.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Tensors of one shape, but for dim `axis`.",
           {.variadic = true});
  op.Output("Out", "T", "All their elements.");
  AxisAttribute(op);
  op.InferShape(OutShape<JoinedDims>)
      .Gradient(ConcatGradient)
      .Alias("Out", "X");
  op.Serves(OpRole::kJoin);
  op.SharesRows("Out", {"X"}, AxisSparesRows);
}

void ConcatGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of concat for one of its inputs: the part of the gradient "
      "of Out where that input stands.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "What was joined.",
           {.variadic = true, .shape_only = true});
  op.Input("Out@GRAD", "T", "The gradient of Out, in its shape.");
  op.Output("X@GRAD", "T", "The gradient of X[index], in its shape.");
  AxisAttribute(op);
  op.Attr<int64_t>("index", "Which of the inputs.").AtLeast(0);
  op.InferShape(ConcatGradShape);
}

}  // namespace

REGISTER_OPERATOR(concat, ConcatSchema);
REGISTER_OPERATOR(concat_grad, ConcatGradSchema);

}  // namespace sluice
