#include "sluice/operators/indexing/scatter_schema.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

// gather_nd and scatter_nd: Index has the coordinates of slices.
namespace sluice {
namespace {

// Returns the shape of gather_nd's Out and of Updates: Index without its last
// dim, then the dims of X without a coordinate; unknown if a rank is.
DDim NamedDims(const InferShapeContext& context, int64_t batch_dims) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  const ShapeHandle index = context.WithRankAtLeast(context.input("Index"), 1);
  if (!x.dims.rank_known() || !index.dims.rank_known()) {
    return DDim::UnknownRank();
  }
  context.Require(
      batch_dims >= 0 && batch_dims < x.rank() && batch_dims < index.rank(),
      "nd.batch_dims",
      "attribute batch_dims = {}; expected 0 or more, and less "
      "than the ranks of input X {} and input Index {}",
      batch_dims, x.dims, index.dims);
  const auto batches = static_cast<int>(batch_dims);
  DDim out;
  for (int i = 0; i < batches; ++i) {
    out.InsertDim(i, context.Merge(context.Dim(x, i), context.Dim(index, i)));
  }
  const int last = index.rank() - 1;
  const int64_t named = index.dims[last];
  if (named == kUnknownDim) return DDim::UnknownRank();
  context.Require(named >= 1 && named <= x.rank() - batches, "nd.coordinates",
                  "the last dim of input Index {} has {} coordinates; expected "
                  "1 to {}, for dims of input X {} from {} on",
                  index.dims, named, x.rank() - batches, x.dims, batches);
  const int first = batches + static_cast<int>(named);
  context.Require(last + x.rank() - first <= DDim::kMaxRank, "nd.rank",
                  "what input Index {} names in input X {} has rank {}; "
                  "expected at most {}",
                  index.dims, x.dims, last + x.rank() - first, DDim::kMaxRank);
  for (int i = batches; i < last; ++i) {
    out.InsertDim(out.rank(), index.dims[i]);
  }
  for (int i = first; i < x.rank(); ++i) {
    out.InsertDim(out.rank(), x.dims[i]);
  }
  return out;
}

DDim GatheredDims(const InferShapeContext& context) {
  return NamedDims(context, context.Attr<int64_t>("batch_dims"));
}

DDim UpdatedDims(const InferShapeContext& context) {
  return NamedDims(context, 0);
}

void NdIndexInput(OpSchema& op) {
  op.Input("Index", "S",
           "[..., k]: the first k indices of a slice of X, after the dims of "
           "a batch; negative ones count from the end; checked when the op "
           "runs.");
}

void GatherNdSchema(OpSchema& op) {
  op.Doc(
      "Picks slices of X by their coordinates: Out[i, ...] = X[Index[i, 0], "
      "Index[i, 1], ...] for an Index of shape [n, 2].");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to pick from, of rank 1 at least.");
  NdIndexInput(op);
  op.Output("Out", "T",
            "The shape of Index without its last dim, then the dims of X that "
            "have no coordinate.");
  op.Attr<int64_t>("batch_dims",
                   "So many dims X and Index share: each place along them is "
                   "looked at by itself.")
      .Default(int64_t{0});
  op.InferShape(OutShape<GatheredDims>).Onnx({"GatherND", {}});
}

constexpr GradientOp kGatherNdGrad = {
    .forward = GatherNdSchema,
    .doc =
        "The gradient of gather_nd: each slice of X gets the sum of the "
        "gradients of those picked from it, in the order of Index.",
    .inputs = {ShapeOf("X"), "Index"},
    .dims = GatheredDims};

void ScatterNdSchema(OpSchema& op) {
  op.Doc(
      "X with an update for each slice whose coordinates Index has: "
      "Out[Index[i, 0], Index[i, 1], ...] = Updates[i, ...] for an Index of "
      "shape [n, 2], in the order of i.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to change, of rank 1 at least.");
  NdIndexInput(op);
  op.Input("Updates", "T",
           "The shape of Index without its last dim, then the dims of X that "
           "have no coordinate.");
  op.Output("Out", "T", "In the shape of X.");
  AddReductionAttribute(op);
  op.InferShape(ScatterShape<UpdatedDims>).Gradient(ScatterGradient);
  op.Onnx({"ScatterND", {}});
}

void ScatterNdGradSchema(OpSchema& op) {
  op.Doc(
      "The gradients of scatter_nd: that of Out for X, without the slices that "
      "were replaced; for Updates what Out has at their places, and 0 where "
      "another update came later.");
  AddScatterGradArguments(op, {"none", "add"});
  op.InferShape(ScatterGradShape<UpdatedDims>);
}

void ScatterNdReduceGradSchema(OpSchema& op) {
  op.Doc(ReduceGradDoc("scatter_nd"));
  AddScatterGradArguments(op, {"mul", "max", "min"});
  op.InferShape(ScatterGradShape<UpdatedDims>);
}

}  // namespace

REGISTER_OPERATOR(gather_nd, WithGradient<kGatherNdGrad>);
REGISTER_OPERATOR(gather_nd_grad, GradientSchema<kGatherNdGrad>);
REGISTER_OPERATOR(scatter_nd, ScatterNdSchema);
REGISTER_OPERATOR(scatter_nd_grad, ScatterNdGradSchema);
REGISTER_OPERATOR(scatter_nd_reduce_grad, ScatterNdReduceGradSchema);

}  // namespace sluice
