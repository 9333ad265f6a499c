#include <array>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/op_dtypes.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::InferShapeContext;
using framework::OpDesc;
using framework::OpSchema;
using platform::DType;

// The shape of Out.
DDim SumDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const auto& dim = context.Attr<std::vector<int64_t>>("dim");
  const bool keep_dim = context.Attr<bool>("keep_dim");
  const bool all = context.Attr<bool>("reduce_all") || dim.empty();
  if (!x.rank_known()) {
    return all && !keep_dim ? DDim() : DDim::UnknownRank();
  }
  std::array<bool, DDim::kMaxRank> summed{};
  if (all) summed.fill(true);
  for (size_t i = 0; !all && i < dim.size(); ++i) {
    const int64_t axis = dim[i] < 0 ? dim[i] + x.rank() : dim[i];
    context.Require(axis >= 0 && axis < x.rank(), "reduce_sum.dim_range",
                    "dim[{}] = {} is no dimension of input X {}: expected {} "
                    "to {}",
                    i, dim[i], x, -x.rank(), x.rank() - 1);
    context.Require(!summed[axis], "reduce_sum.dim_twice",
                    "dim[{}] = {} names a dimension of input X {} that is in "
                    "the list already",
                    i, dim[i], x);
    summed[axis] = true;
  }
  DDim out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!summed[axis]) {
      out.InsertDim(out.rank(), x[axis]);
    } else if (keep_dim) {
      out.InsertDim(out.rank(), 1);
    }
  }
  return out;
}

void ReduceSumShape(InferShapeContext& context) {
  context.SetOutput("Out", SumDims(context));
}

void ReduceSumGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {SumDims(context), -1});
  context.SetOutput("X@GRAD", context.input("X"));
}

std::vector<OpDesc> ReduceSumGradient(const OpDesc& forward) {
  return {framework::MakeGradOp(forward, "reduce_sum_grad",
                                {{"X"}, {}, {"Out"}, {"X"}})};
}

void SumAttributes(OpSchema& op) {
  op.Attr<std::vector<int64_t>>(
        "dim",
        "The dimensions to sum over; negative ones count from the end, an "
        "empty list means all.")
      .Default(std::vector<int64_t>());
  op.Attr<bool>("keep_dim", "Whether these stay, with size 1.").Default(false);
  op.Attr<bool>("reduce_all", "Whether to sum over all, whatever dim says.")
      .Default(false);
}

void ReduceSumSchema(OpSchema& op) {
  op.Doc(
      "The sum over some dimensions. float32, float16 and bfloat16 are summed "
      "in float64, float64 with compensation, whatever the number of threads "
      "in the same order; integers wrap around. A sum of no elements is 0.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T",
            "The sums: X's shape without the dimensions summed over, or with "
            "size 1 there; a scalar (rank 0) when none is left.");
  SumAttributes(op);
  op.InferShape(ReduceSumShape).Gradient(ReduceSumGradient);
}

void ReduceSumGradSchema(OpSchema& op) {
  op.Doc("The gradient of reduce_sum: that of each sum for all its summands.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "What was summed.", {.shape_only = true});
  op.Input("Out@GRAD", "T", "The gradient of the sums.");
  op.Output("X@GRAD", "T", "The gradient of X, in its shape.");
  SumAttributes(op);
  op.InferShape(ReduceSumGradShape);
}

}  // namespace

REGISTER_OPERATOR(reduce_sum, ReduceSumSchema);
REGISTER_OPERATOR(reduce_sum_grad, ReduceSumGradSchema);

}  // namespace sluice::operators
