#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "sluice/operators/math/plain_formulas.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/reduction/reduction_row.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

// The schemas of the rows of the table of reductions and of their gradient ops.
namespace sluice {
namespace {
#include "sluice/operators/reduction/reduction_rows.inc"

template <class... Row>
std::span<const ReductionInfo> InfosOf(Rows<Row...> /*table*/) {
  static constexpr std::array kInfos = {ReduceSumRow::kInfo,
                                        ReduceMeanRow::kInfo, Row::kInfo...};
  return kInfos;
}

// Returns the shape of Out.
DDim OutDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const auto& dim = context.Attr<std::vector<int64_t>>("dim");
  const bool keep_dim = context.Attr<bool>("keep_dim");
  const bool all = context.Attr<bool>("reduce_all") || dim.empty();
  if (!x.rank_known()) {
    return all && !keep_dim ? DDim() : DDim::UnknownRank();
  }
  std::array<bool, DDim::kMaxRank> reduced{};
  if (all) reduced.fill(true);
  for (size_t i = 0; !all && i < dim.size(); ++i) {
    const int64_t axis = dim[i] < 0 ? dim[i] + x.rank() : dim[i];
    context.Require(axis >= 0 && axis < x.rank(), "reduction.dim_range",
                    "dim[{}] = {} is no dimension of input X {}: expected {} "
                    "to {}",
                    i, dim[i], x, -x.rank(), x.rank() - 1);
    context.Require(!reduced[axis], "reduction.dim_twice",
                    "dim[{}] = {} names a dimension of input X {} that is in "
                    "the list already",
                    i, dim[i], x);
    reduced[axis] = true;
  }
  DDim out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis]) {
      out.InsertDim(out.rank(), x[axis]);
    } else if (keep_dim) {
      out.InsertDim(out.rank(), 1);
    }
  }
  return out;
}

// Sets the shape while the reduced dimensions are unknown.
void LateShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  DDim out = DDim::UnknownRank();
  if (context.Attr<bool>("keep_dim") && x.rank_known()) {
    out =
        DDim(std::vector<int64_t>(static_cast<size_t>(x.rank()), kUnknownDim));
  }
  context.SetOutput("Out", out);
}

constexpr GradientOp kGradFromShape = {.inputs = {ShapeOf("X")},
                                       .dims = OutDims};
constexpr GradientOp kGradFromXAndOut = {
    .inputs = {"X"}, .outputs = {"Out"}, .dims = OutDims};

std::vector<DType> DTypes(ReductionDTypes dtypes) {
  switch (dtypes) {
    case ReductionDTypes::kFloats:
      return FloatDTypes();
    case ReductionDTypes::kSums:
      return {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
              DType::kBFloat16, DType::kInt32,   DType::kInt64};
    case ReductionDTypes::kOrdered: {
      std::vector<DType> all = NumericDTypes();
      all.push_back(DType::kBool);
      return all;
    }
    case ReductionDTypes::kBool:
      break;
  }
  return {DType::kBool};
}

void Schema(const ReductionInfo& info, OpSchema& op) {
  op.Doc(info.doc);
  op.TypeVar("T", DTypes(info.dtypes));
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T",
            "X's shape without the dimensions reduced, or with size 1 there; a "
            "scalar (rank 0) when none is left.");
  op.Attr<std::vector<int64_t>>(
        "dim",
        "The dimensions to reduce; negative ones count from the end, an empty "
        "list means all.")
      .Default(std::vector<int64_t>());
  op.Attr<bool>("keep_dim", "Whether these stay, with size 1.").Default(false);
  op.Attr<bool>("reduce_all", "Whether to reduce all, whatever dim says.")
      .Default(false);
  op.Operand("Dim", "dim", "int64", "Attribute dim as a vector.");
  op.InferShape(OutShape<OutDims>).InferLateShape(LateShape);
  op.SharesRows("Out", {"X"}, [](const OpDesc& op, const DDim& x) {
    return SparesRows(op, x, "dim") && IsOff(op, "reduce_all");
  });
  if (info.gradient == ReductionGradient::kShape) {
    op.Gradient(MakeGradients<kGradFromShape>);
  } else if (info.gradient == ReductionGradient::kXAndOut) {
    op.Gradient(MakeGradients<kGradFromXAndOut>);
  }
  op.Onnx({info.onnx, {{"axes", "dim"}, {"keepdims", "keep_dim"}}});
  op.Torch(info.torch);
}

void AddReductionOps(Registry& registry) {
  for (const ReductionInfo& info : Reductions()) {
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
    if (info.gradient == ReductionGradient::kNone) continue;
    registry.AddOperator(std::string(info.name) + "_grad", [&](OpSchema& op) {
      const bool shape_only = info.gradient == ReductionGradient::kShape;
      DeriveGradient(registry.Schema(info.name),
                     shape_only ? kGradFromShape : kGradFromXAndOut, op);
      op.Doc(std::string("The gradient of ") + info.name + ": " +
             info.gradient_doc);
      op.InferShape(shape_only ? GradientShape<kGradFromShape>
                               : GradientShape<kGradFromXAndOut>);
    });
  }
}

}  // namespace

std::span<const ReductionInfo> Reductions() {
  return InfosOf(ReductionTable());
}

REGISTER_TABLE(reduction_ops, AddReductionOps);

}  // namespace sluice
