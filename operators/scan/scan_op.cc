#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

// cumsum and cumprod.
namespace sluice {
namespace {

// Returns X's shape, or all of its elements as one dim.
DDim ScannedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  if (context.Attr<bool>("flatten")) {
    return {x.known() ? x.numel() : kUnknownDim};
  }
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(
      !x.rank_known() || (axis >= -x.rank() && axis < x.rank()), "scan.axis",
      "attribute axis = {} is no dimension of input X {}; expected {} to {}",
      axis, x, -x.rank(), x.rank() - 1);
  return x;
}

// The shape does not depend on the axis.
void ScanLateShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const bool flat = context.Attr<bool>("flatten");
  context.SetOutput("Out", flat ? DDim{kUnknownDim} : x);
}

struct Row {
  const char* name;
  const char* doc;
  const char* grad_doc;
  const char* onnx;
  bool grad_reads_x;
};

constexpr Row kRows[] = {
    {"cumsum",
     "The sum of the elements up to each one, along one dimension. Floats are "
     "summed in float64; integers wrap around.",
     "the sum of Out@GRAD from each element on.", "CumSum", false},
    {"cumprod",
     "The product of the elements up to each one, along one dimension. Floats "
     "are multiplied in float64; integers wrap around.",
     "no element is divided by, so that all may be 0.", "CumProd", true},
};

// cumsum needs only the shape of X.
constexpr GradientOp kScanGrad = {.inputs = {"X"}, .dims = ScannedDims};

void Schema(const Row& row, OpSchema& op) {
  op.Doc(row.doc);
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "Of rank 1 or more; with flatten of any.");
  op.Output("Out", "T", "In X's shape; with flatten [elements].");
  op.Attr<int64_t>("axis", "The dimension; a negative one counts from the end.")
      .Default(int64_t{-1});
  op.Attr<bool>("flatten",
                "Runs along all elements in row-major order, whatever axis "
                "says.")
      .Default(false);
  op.Attr<bool>("exclusive",
                "Leaves the element itself out: the first is that of none.")
      .Default(false);
  op.Attr<bool>("reverse", "From the last element to the first.")
      .Default(false);
  op.TypeVar("S", IndexDTypes());
  op.Operand("Axis", "axis", "S", "Attribute axis as one element.");
  op.InferShape(OutShape<ScannedDims>).InferLateShape(ScanLateShape);
  op.SharesRows("Out", {"X"}, AxisSparesRows);
  op.Gradient(MakeGradients<kScanGrad>).Onnx({row.onnx, {}});
}

void AddScanOps(Registry& registry) {
  for (const Row& row : kRows) {
    registry.AddOperator(row.name, [&](OpSchema& op) { Schema(row, op); });
    registry.AddOperator(std::string(row.name) + "_grad", [&](OpSchema& op) {
      GradientOp gradient = kScanGrad;
      gradient.inputs[0].shape_only = !row.grad_reads_x;
      DeriveGradient(registry.Schema(row.name), gradient, op);
      op.Doc(std::string("The gradient of ") + row.name + ": " + row.grad_doc);
      op.InferShape(GradientShape<kScanGrad>);
    });
  }
}

}  // namespace

REGISTER_TABLE(scan_ops, AddScanOps);

}  // namespace sluice
