#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

// The schemas of the rows of math/binary's tables and of their gradient ops.
namespace sluice {
namespace {

// Returns the broadcast shape of X and Y.
DDim CommonDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim y = context.input("Y");
  const auto axis = context.Attr<int64_t>("axis");
  if (!x.rank_known() || !y.rank_known()) return DDim::UnknownRank();
  context.Require(
      axis == -1 || y.rank() + axis <= x.rank(), "elementwise.axis",
      "Y of shape {} placed at axis = {} does not lie inside X of shape {}: "
      "expected axis + rank of Y <= {}",
      y, axis, x, x.rank());
  DDim out;
  const int conflict = BroadcastShape(x, y, axis, &out);
  context.Require(conflict < 0, "elementwise.shapes",
                  "X of shape {} and Y of shape {} (axis = {}) do not fit in "
                  "dim {}: expected equal sizes or a 1",
                  x, y, axis, conflict);
  return out;
}

constexpr GradientOp kBinaryGrad = {
    .inputs = {"X", "Y"}, .wanted = {"X", "Y"}, .dims = CommonDims};
// Out is an input only where the gradient reads it, so that it can be freed.
constexpr GradientOp kBinaryGradFromOut = {.inputs = {"X", "Y"},
                                           .outputs = {"Out"},
                                           .wanted = {"X", "Y"},
                                           .dims = CommonDims};

std::vector<DType> IntegerDTypes() {
  return {DType::kInt8,  DType::kUInt8,  DType::kInt32,  DType::kInt64,
          DType::kInt16, DType::kUInt16, DType::kUInt32, DType::kUInt64};
}

std::vector<DType> NumberDTypes() {
  std::vector<DType> dtypes = FloatDTypes();
  for (const DType dtype : IntegerDTypes()) {
    dtypes.push_back(dtype);
  }
  return dtypes;
}

std::vector<DType> DTypes(const BinaryInfo& info) {
  switch (info.dtypes) {
    case BinaryDTypes::kFloats:
      return FloatDTypes();
    case BinaryDTypes::kNumbers:
      return NumberDTypes();
    case BinaryDTypes::kIntegers:
      return IntegerDTypes();
    case BinaryDTypes::kBool:
      return {DType::kBool};
    case BinaryDTypes::kAll:
      break;
  }
  std::vector<DType> dtypes = NumberDTypes();
  dtypes.push_back(DType::kBool);
  return dtypes;
}

std::string Doc(const BinaryInfo& info) {
  std::string doc = std::string(info.doc) + ", element by element.";
  if (*info.note != 0) doc += std::string(" ") + info.note;
  doc +=
      " Sizes of 1, and dimensions that one of them lacks, are repeated: by "
      "default the last dimensions stand under each other, as in numpy; `axis` "
      "says otherwise.";
  const bool numbers = info.dtypes == BinaryDTypes::kNumbers ||
                       info.dtypes == BinaryDTypes::kAll;
  if (numbers && info.result == BinaryResult::kSame) {
    doc += " Integers wrap around.";
  }
  return doc;
}

void Schema(const BinaryInfo& info, OpSchema& op) {
  op.Doc(Doc(info));
  op.TypeVar("T", DTypes(info));
  op.Input("X", "T", "The left operand, of any shape.");
  op.Input("Y", "T", "The right one, of a shape that can be repeated to X's.");
  op.Output("Out", info.result == BinaryResult::kBool ? "bool" : "T",
            "The result, in the common shape.");
  op.Attr<int64_t>("axis",
                   "The dimension of X under which the first one of Y stands; "
                   "-1 aligns the last ones.")
      .Default(int64_t{-1})
      .AtLeast(-1)
      .AtMost(DDim::kMaxRank);
  op.InferShape(OutShape<CommonDims>).Elementwise();
  if (info.differentiable()) {
    op.Gradient(info.gradient_reads.out ? MakeGradients<kBinaryGradFromOut>
                                        : MakeGradients<kBinaryGrad>);
  }
  op.Onnx({info.onnx, {}}).Torch(info.torch);
  op.Family(info.family).ShortName(info.short_name);
}

void GradSchema(const OpSchema& forward, const BinaryInfo& info, OpSchema& op) {
  const bool reads_out = info.gradient_reads.out;
  GradientOp gradient = reads_out ? kBinaryGradFromOut : kBinaryGrad;
  gradient.inputs[0].shape_only = !info.gradient_reads.x;
  gradient.inputs[1].shape_only = !info.gradient_reads.y;
  DeriveGradient(forward, gradient, op);
  op.Doc(std::string("The gradients of ") + info.name + ": " +
         info.gradient_doc +
         "; each is summed over the dimensions in which that operand was "
         "repeated.");
  op.InferShape(reads_out ? GradientShape<kBinaryGradFromOut>
                          : GradientShape<kBinaryGrad>);
  if (info.x_term == BinaryTerm::kSame) op.Alias("X@GRAD", "Out@GRAD");
  if (info.y_term == BinaryTerm::kSame) op.Alias("Y@GRAD", "Out@GRAD");
}

void AddBinaryOps(Registry& registry) {
  for (const BinaryRow& row : BinaryRows()) {
    const BinaryInfo& info = row.info;
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
    if (!info.differentiable()) continue;
    registry.AddOperator(std::string(info.name) + "_grad", [&](OpSchema& op) {
      GradSchema(registry.Schema(info.name), info, op);
    });
  }
}

}  // namespace

REGISTER_TABLE(binary_ops, AddBinaryOps);

}  // namespace sluice
