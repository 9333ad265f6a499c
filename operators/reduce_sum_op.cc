#include <array>

#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/op_registry.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::InferShapeContext;
using framework::OpSchema;
using platform::DType;

void ReduceSumShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const auto& dim = context.Attr<std::vector<int64_t>>("dim");
  const bool keep_dim = context.Attr<bool>("keep_dim");
  const bool all = context.Attr<bool>("reduce_all") || dim.empty();
  if (!x.rank_known()) {
    context.SetOutput("Out", all && !keep_dim ? DDim() : DDim::UnknownRank());
    return;
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
  context.SetOutput("Out", out);
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
  op.Attr<std::vector<int64_t>>(
        "dim",
        "The dimensions to sum over; negative ones count from the end, an "
        "empty list means all.")
      .Default(std::vector<int64_t>());
  op.Attr<bool>("keep_dim", "Whether these stay, with size 1.").Default(false);
  op.Attr<bool>("reduce_all", "Whether to sum over all, whatever dim says.")
      .Default(false);
  op.InferShape(ReduceSumShape);
}

}  // namespace

REGISTER_OPERATOR(reduce_sum, ReduceSumSchema);

}  // namespace sluice::operators
