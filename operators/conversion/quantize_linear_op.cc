#include "sluice/operators/registration.h"

// quantize_linear and dequantize_linear.
namespace sluice {
namespace {

// The dtypes of quantized numbers.
std::vector<DType> QuantizedDTypes() {
  return {DType::kInt8,           DType::kUInt8,      DType::kInt16,
          DType::kUInt16,         DType::kInt4,       DType::kUInt4,
          DType::kInt2,           DType::kUInt2,      DType::kFloat8E4M3FN,
          DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ,
          DType::kFloat4E2M1FN};
}

// Whether the number of scales fits X's axis, as the schema specifies.
bool FitsAxis(int64_t scales, int64_t size, int64_t block_size) {
  if (scales < 0 || size < 0) return true;
  if (block_size == 0) return scales == size;
  return scales == size / block_size + (size % block_size > 0 ? 1 : 0);
}

bool ScaleFits(const DDim& x, const DDim& scale, int axis, int64_t block_size) {
  if (block_size == 0) {
    return scale.rank() == 1 && FitsAxis(scale[0], x[axis], 0);
  }
  if (scale.rank() != x.rank()) return false;
  for (int i = 0; i < x.rank(); ++i) {
    const bool fits = i == axis ? FitsAxis(scale[i], x[i], block_size)
                                : FitsAxis(scale[i], x[i], 0);
    if (!fits) return false;
  }
  return true;
}

// Whether `scale` may be a single number for all of X.
bool MayBeSingle(const DDim& scale) {
  return scale.rank() == 0 ||
         (scale.rank() == 1 && (scale[0] == 1 || scale[0] < 0));
}

void QuantizedShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim scale = context.input("Scale");
  const auto given = context.Attr<int64_t>("axis");
  const auto block_size = context.Attr<int64_t>("block_size");
  if (context.HasInput("ZeroPoint")) {
    const DDim zero = context.input("ZeroPoint");
    if (!MayBeSingle(scale) || !MayBeSingle(zero)) {
      context.Merge(context.input("Scale"), context.input("ZeroPoint"));
    }
  }
  context.SetOutput("Out", x);
  if (!x.rank_known() || !scale.rank_known()) return;
  if (block_size == 0 && MayBeSingle(scale)) return;
  context.Require(given >= -x.rank() && given < x.rank(),
                  "quantize_linear.axis",
                  "attribute axis = {}; expected a dim of input X {}, from {} "
                  "to {}",
                  given, x, -x.rank(), x.rank() - 1);
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
  context.Require(
      ScaleFits(x, scale, axis, block_size), "quantize_linear.scale",
      "input Scale {} does not fit input X {}: expected {}", scale, x,
      block_size == 0 ? Format("one number, or as many as dim {} has", axis)
                      : Format("the shape of X, with a number for each {} "
                               "elements of dim {}",
                               block_size, axis));
}

void ScaleAttributes(OpSchema& op) {
  op.Attr<int64_t>("axis",
                   "The dim of X that Scale goes along, where it has more than "
                   "one number; negative ones count from the end.")
      .Default(int64_t{1});
  op.Attr<int64_t>("block_size",
                   "How many neighbours along axis share a number of Scale, "
                   "which then has the rank of X. 0: Scale has one number, or "
                   "one for each index of axis.")
      .Default(int64_t{0})
      .AtLeast(0);
}

void QuantizeSchema(OpSchema& op) {
  op.Doc(
      "X / Scale + ZeroPoint in few bits. To integers: the quotient is rounded "
      "to nearest, ties to even, and the sum becomes the nearest end of the "
      "range where it is past it; a quotient that is NaN counts as 0. To "
      "floats: rounded as by cast.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32});
  op.TypeVar("S", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32, DType::kFloat8E8M0FNU});
  op.TypeVarFromAttr("U", "dtype", QuantizedDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Input("Scale", "S", "What is divided by: see axis and block_size.");
  op.Input("ZeroPoint", "U", "What 0 becomes, in the shape of Scale; else 0.",
           {.optional = true});
  op.Output("Out", "U", "In the shape of X.");
  op.Attr<DType>("dtype", "The dtype of Out and ZeroPoint.")
      .Default(DType::kUInt8);
  ScaleAttributes(op);
  op.Attr<bool>("saturate", "As of cast, for floats of 8 bits.").Default(true);
  op.Attr<DType>("precision",
                 "What X and Scale are rounded to and divided as: float64, "
                 "float32, float16 or bfloat16.")
      .Default(DType::kFloat32);
  op.InferShape([](InferShapeContext& context) {
    const auto precision = context.Attr<DType>("precision");
    context.Require(IsFloating(precision), "quantize_linear.precision",
                    "attribute precision is {}; expected float64, float32, "
                    "float16 or bfloat16",
                    precision);
    QuantizedShape(context);
  });
}

void DequantizeSchema(OpSchema& op) {
  std::vector<DType> quantized = QuantizedDTypes();
  quantized.push_back(DType::kInt32);
  op.Doc(
      "(X - ZeroPoint) * Scale: the numbers that quantize_linear made X of. "
      "Computed in float64 and rounded once.");
  op.TypeVar("T", quantized);
  op.TypeVar("S", {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                   DType::kFloat8E8M0FNU});
  op.TypeVarFromAttr("U", "dtype",
                     {DType::kFloat32, DType::kFloat16, DType::kBFloat16});
  op.Input("X", "T", "A tensor of any shape.");
  op.Input("Scale", "S", "The factor: see axis and block_size.");
  op.Input("ZeroPoint", "T", "In the shape of Scale; else 0.",
           {.optional = true});
  op.Output("Out", "U", "In the shape of X.");
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
  ScaleAttributes(op);
  op.InferShape(QuantizedShape);
  op.NoGradient("X are integers, and Scale is measured, not trained");
}

}  // namespace

REGISTER_OPERATOR(quantize_linear, QuantizeSchema);
REGISTER_OPERATOR(dequantize_linear, DequantizeSchema);

}  // namespace sluice
