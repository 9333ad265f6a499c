#include "sluice/operators/holds_number.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void ScaleShape(InferShapeContext& context) {
  const DType dtype = context.input_dtype("X");
  if (!IsFloating(dtype)) {
    for (const char* name : {"scale", "bias"}) {
      const double value = context.Attr<double>(name);
      context.Require(HoldsNumber(dtype, value), "scale.whole_number",
                      "attribute {} is {}, expected a number that {} holds",
                      name, value, dtype);
    }
  }
  context.SetOutput("Out", context.input("X"));
}

std::vector<OpDesc> ScaleGradient(const OpDesc& forward) {
  const Attribute& scale = forward.attributes.find("scale")->second;
  return {GradientThrough(forward, forward.Input("X")[0], "scale",
                          {{"scale", scale}})};
}

void ScaleSchema(OpSchema& op) {
  op.Doc(
      "Out = scale * X + bias, or scale * (X + bias). float16 and bfloat16 are "
      "computed in float32 and rounded once; integers take whole numbers only "
      "and wrap around.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  op.Attr<double>("scale", "The factor.").Default(1.0);
  op.Attr<double>("bias", "The summand.").Default(0.0);
  op.Attr<bool>("bias_after_scale",
                "Whether the bias is added after the product, or to X.")
      .Default(true);
  op.InferShape(ScaleShape).Elementwise().Gradient(ScaleGradient);
}

}  // namespace

REGISTER_OPERATOR(scale, ScaleSchema);

}  // namespace sluice
