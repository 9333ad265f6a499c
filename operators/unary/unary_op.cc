#include "sluice/operators/math/unary/unary_row.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

// The schemas of the rows of math/unary's tables and of their gradient ops.
namespace sluice {
namespace {

void UnaryGradShape(InferShapeContext& context) {
  // Input 0 is X or Out, as the formula of the derivative requires.
  context.SetOutput("X@GRAD",
                    context.Merge(context.input(0), context.input("Out@GRAD")));
}

// Only X or only Out is read, so that the other can be freed.
constexpr GradientOp kGradFromX = {.inputs = {"X"}, .shape = UnaryGradShape};
constexpr GradientOp kGradFromOut = {.outputs = {"Out"},
                                     .shape = UnaryGradShape};

std::vector<DType> DTypes(const UnaryInfo& info) {
  std::vector<DType> dtypes = FloatDTypes();
  if (info.dtypes == UnaryDTypes::kSignedNumbers) {
    for (const DType dtype : {DType::kInt8, DType::kInt32, DType::kInt64}) {
      dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

void Schema(const UnaryInfo& info, OpSchema& op) {
  op.Doc(info.doc);
  op.TypeVar("T", DTypes(info));
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  for (const UnaryAttr& attr : info.attributes) {
    if (attr.name == nullptr) continue;
    if (attr.is_bool) {
      op.Attr<bool>(attr.name, attr.doc).Default(attr.default_value != 0);
    } else {
      op.Attr<double>(attr.name, attr.doc).Default(attr.default_value);
    }
  }
  op.InferShape(SameShape).Elementwise();
  op.Gradient(info.gradient_reads == GradientReads::kX
                  ? MakeGradients<kGradFromX>
                  : MakeGradients<kGradFromOut>);
  op.Torch(info.torch).Family(info.family);
  OnnxCounterpart onnx = {info.onnx, {}};
  for (const UnaryAttr& attr : info.attributes) {
    if (attr.onnx != nullptr) onnx.attributes[attr.onnx] = attr.name;
  }
  op.Onnx(std::move(onnx));
}

void AddUnaryOps(Registry& registry) {
  for (const UnaryRow& row : UnaryRows()) {
    const UnaryInfo& info = row.info;
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
    registry.AddOperator(std::string(info.name) + "_grad", [&](OpSchema& op) {
      const bool reads_x = info.gradient_reads == GradientReads::kX;
      DeriveGradient(registry.Schema(info.name),
                     reads_x ? kGradFromX : kGradFromOut, op);
      op.Doc(std::string("The gradient of ") + info.name + ": " +
             info.gradient_doc);
      op.Elementwise();
    });
  }
}

}  // namespace

REGISTER_TABLE(unary_ops, AddUnaryOps);

}  // namespace sluice
