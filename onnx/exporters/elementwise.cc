#include <cmath>
#include <limits>
#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

std::string Binary(OpExport& op,
                   const char* type,
                   const std::string& x,
                   const std::string& y) {
  return op.Append(type, {x, y});
}

void NotEqual(OpExport& op) {
  op.Finish("Not", {Binary(op, "Equal", op.In("X"), AlignedY(op))});
}

// Returns whether `rest` and y have opposite signs.
std::string SignsDiffer(OpExport& op,
                        const std::string& rest,
                        const std::string& y) {
  const std::string signs =
      Binary(op, "Mul", op.Append("Sign", {rest}), op.Append("Sign", {y}));
  return Binary(op, "Less", signs, op.Number(0, op.TypeOf("X")));
}

// For floats, ONNX's Mod has only the variant with the sign of X.
void Mod(OpExport& op) {
  const std::string x = op.In("X"), y = AlignedY(op);
  if (!IsFloating(op.TypeOf("X"))) {
    return op.Finish("Mod", {x, y}, {{"fmod", int64_t{0}}});
  }
  const std::string rest = op.Append("Mod", {x, y}, {{"fmod", int64_t{1}}});
  op.Finish("Where",
            {SignsDiffer(op, rest, y), Binary(op, "Add", rest, y), rest});
}

void Fmod(OpExport& op) {
  op.Finish("Mod", {op.In("X"), AlignedY(op)}, {{"fmod", int64_t{1}}});
}

// For integers, ONNX's Div rounds towards 0, so the remainder is subtracted
// before, which makes it exact. For floats, that quotient is a whole number up
// to rounding, and one too large if the remainder has the opposite sign.
void FloorDiv(OpExport& op) {
  const std::string x = op.In("X"), y = AlignedY(op);
  const DType dtype = op.TypeOf("X");
  if (!IsFloating(dtype)) {
    const std::string rest = Binary(op, "Mod", x, y);
    return op.Finish("Div", {Binary(op, "Sub", x, rest), y});
  }
  const std::string rest = op.Append("Mod", {x, y}, {{"fmod", int64_t{1}}});
  const std::string one = op.Number(1, dtype);
  const std::string whole = Binary(op, "Div", Binary(op, "Sub", x, rest), y);
  const std::string quotient = op.Append(
      "Where",
      {SignsDiffer(op, rest, y), Binary(op, "Sub", whole, one), whole});
  const std::string below = op.Append("Floor", {quotient});
  const std::string rounded_down = Binary(
      op, "Greater", Binary(op, "Sub", quotient, below), op.Number(0.5, dtype));
  const std::string result =
      op.Append("Where", {rounded_down, Binary(op, "Add", below, one), below});
  op.Finish("Where", {Binary(op, "Equal", y, op.Number(0, dtype)),
                      Binary(op, "Div", x, y), result});
}

// ONNX's Pow lacks 8-bit integers.
void Pow(OpExport& op) {
  const DType dtype = op.TypeOf("X");
  const std::string y = AlignedY(op);
  if (dtype != DType::kInt8 && dtype != DType::kUInt8) {
    return op.Finish("Pow", {op.In("X"), y});
  }
  const std::string power =
      op.Append("Pow", {op.Cast(op.In("X"), DType::kInt64), y});
  op.Finish("Cast", {power}, {{"to", dtype}});
}

// Returns whether Y is broadcast to the shape of X, from the last dim or from
// attribute axis.
bool IsRepeatedToX(const OpExport& op) {
  const DDim x = op.Dims("X"), y = op.Dims("Y");
  if (!x.rank_known() || !y.rank_known() || y.rank() > x.rank()) return false;
  const int64_t axis = op.Int("axis");
  const int first = axis == -1 ? x.rank() - y.rank() : static_cast<int>(axis);
  for (int i = 0; i < y.rank(); ++i) {
    if (y[i] < 0 || (y[i] != 1 && y[i] != x[first + i])) return false;
  }
  return true;
}

// ONNX's PRelu broadcasts only Y.
void PRelu(OpExport& op) {
  const std::string x = op.In("X"), y = AlignedY(op);
  if (IsRepeatedToX(op)) return op.Finish("PRelu", {x, y});
  const std::string negative =
      Binary(op, "Less", x, op.Number(0, op.TypeOf("X")));
  op.Finish("Where", {negative, Binary(op, "Mul", x, y), x});
}

// ONNX supports other integers from opset 28 on.
void BitShift(OpExport& op) {
  if (op.TypeOf("X") != DType::kUInt8 && op.opset() < 28) {
    OpExport::Unsupported("BitShift of ONNX takes {} from opset 28 on",
                          op.TypeOf("X"));
  }
  const bool left = op.type() == "bitwise_left_shift";
  op.Finish("BitShift", {op.In("X"), AlignedY(op)},
            {{"direction", std::string(left ? "LEFT" : "RIGHT")}});
}

void BiasAdd(OpExport& op) {
  const int rank = op.Rank("X");
  std::string bias = op.In("Bias");
  if (op.String("data_format") == "NCHW" && rank > 2) {
    Ints after;
    for (int64_t i = 1; i + 1 < rank; ++i) {
      after.push_back(i);
    }
    bias = op.Append("Unsqueeze", {bias, op.Vector(after)});
  }
  op.Finish("Add", {op.In("X"), bias});
}

// ONNX's Sum accepts only floats.
void Sum(OpExport& op) {
  const Names all = op.All("X");
  if (all.size() == 1) return op.Finish("Identity", all);
  if (IsFloating(op.TypeOf("X"))) return op.Finish("Sum", all);
  std::string sum = all[0];
  for (size_t i = 1; i + 1 < all.size(); ++i) {
    sum = Binary(op, "Add", sum, all[i]);
  }
  op.Finish("Add", {sum, all.back()});
}

void Scale(OpExport& op) {
  const DType dtype = op.TypeOf("X");
  const double scale = op.Float("scale"), bias = op.Float("bias");
  const bool bias_last = op.Bool("bias_after_scale");
  struct Step {
    const char* type;
    double number;
    double nothing;
  };
  const Step times = {"Mul", scale, 1}, plus = {"Add", bias, 0};
  const Step first = bias_last ? times : plus, last = bias_last ? plus : times;
  const bool has_first = first.number != first.nothing;
  const bool has_last = last.number != last.nothing;
  if (!has_first && !has_last) return op.Finish("Identity", {op.In("X")});
  std::string x = op.In("X");
  if (has_first && has_last) {
    x = Binary(op, first.type, x, op.Number(first.number, dtype));
  }
  const Step& step = has_last ? last : first;
  op.Finish(step.type, {x, op.Number(step.number, dtype)});
}

void Clip(OpExport& op) {
  const DType dtype = op.TypeOf("X");
  const auto bound = [&](const char* operand, const char* attribute) {
    if (op.Has(operand)) return op.Scalar(operand);
    const double value = op.Float(attribute);
    // Without a bound, some readers clamp infinity to the largest number.
    if (IsFloating(dtype)) return op.Number(value, dtype);
    if (std::isinf(value)) return std::string();
    // A bound beyond the range of the dtype has no effect.
    return VisitDType(dtype, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        const bool is_min = std::string_view(attribute) == "min";
        const double whole = is_min ? std::ceil(value) : std::floor(value);
        using Limits = std::numeric_limits<T>;
        const auto least = static_cast<double>(Limits::min());
        const auto most = static_cast<double>(Limits::max());
        if (whole <= least || whole >= most) {
          const bool none = is_min == (whole <= least);
          if (none) return std::string();
          const T end = is_min ? Limits::max() : Limits::min();
          return op.Constant(Tensor::FromVector<T>({}, {end}));
        }
        return op.Constant(Tensor::FromVector<T>({}, {static_cast<T>(whole)}));
      } else {
        return std::string();
      }
    });
  };
  const std::string min = bound("Min", "min"), max = bound("Max", "max");
  op.Finish("Clip", {op.In("X"), min, max});
}

void Relu6(OpExport& op) {
  const DType dtype = op.TypeOf("X");
  op.Finish("Clip", {op.In("X"), op.Number(0, dtype), op.Number(6, dtype)});
}

void Square(OpExport& op) {
  op.Finish("Mul", {op.In("X"), op.In("X")});
}

void Rsqrt(OpExport& op) {
  op.Finish("Reciprocal", {op.Append("Sqrt", {op.In("X")})});
}

void Trunc(OpExport& op) {
  const std::string x = op.In("X");
  const std::string negative =
      Binary(op, "Less", x, op.Number(0, op.TypeOf("X")));
  op.Finish("Where",
            {negative, op.Append("Ceil", {x}), op.Append("Floor", {x})});
}

// |x| < 1/2, where the plain formulas lose precision.
std::string IsSmall(OpExport& op, const std::string& x) {
  return Binary(op, "Less", op.Append("Abs", {x}),
                op.Number(0.5, op.TypeOf("X")));
}

// exp(x) - 1 = 2 t / (1 - t) with t = tanh(x / 2), which is exact near 0.
void Expm1(OpExport& op) {
  const std::string x = op.In("X");
  const DType dtype = op.TypeOf("X");
  const std::string one = op.Number(1, dtype);
  const std::string half = Binary(op, "Mul", x, op.Number(0.5, dtype));
  const std::string t = op.Append("Tanh", {half});
  const std::string small =
      Binary(op, "Div", Binary(op, "Add", t, t), Binary(op, "Sub", one, t));
  const std::string large = Binary(op, "Sub", op.Append("Exp", {x}), one);
  op.Finish("Where", {IsSmall(op, x), small, large});
}

// log(1 + x) = 2 atanh(x / (2 + x)), which is exact near 0.
void Log1p(OpExport& op) {
  const std::string x = op.In("X");
  const DType dtype = op.TypeOf("X");
  const std::string part =
      Binary(op, "Div", x, Binary(op, "Add", x, op.Number(2, dtype)));
  const std::string half = op.Append("Atanh", {part});
  const std::string small = Binary(op, "Add", half, half);
  const std::string large =
      op.Append("Log", {Binary(op, "Add", x, op.Number(1, dtype))});
  op.Finish("Where", {IsSmall(op, x), small, large});
}

// Computes log(sigmoid(x)) = -log(1 + exp(-x)).
void LogSigmoid(OpExport& op) {
  const std::string negative = op.Append("Neg", {op.In("X")});
  op.Finish("Neg", {op.Append("Softplus", {negative})});
}

// As the op computes it: the slope of the sure side times X, and softplus.
void LogisticLoss(OpExport& op) {
  const std::string x = op.In("X"), y = AlignedY(op);
  const DType dtype = op.TypeOf("X");
  const std::string slope =
      op.Append("Where", {Binary(op, "Greater", x, op.Number(0, dtype)),
                          Binary(op, "Sub", op.Number(1, dtype), y),
                          op.Append("Neg", {y})});
  const std::string far = op.Append("Neg", {op.Append("Abs", {x})});
  op.Finish("Add", {Binary(op, "Mul", slope, x), op.Append("Softplus", {far})});
}

void XLogY(OpExport& op) {
  const std::string x = op.In("X"), y = AlignedY(op);
  const std::string zero = op.Number(0, op.TypeOf("X"));
  op.Finish("Where", {Binary(op, "Equal", x, zero), zero,
                      Binary(op, "Mul", x, op.Append("Log", {y}))});
}

void Gelu(OpExport& op) {
  const bool tanh = op.Bool("approximate");
  op.Finish("Gelu", {op.In("X")},
            {{"approximate", std::string(tanh ? "tanh" : "none")}});
}

void Swish(OpExport& op) {
  const double beta = op.Float("beta");
  const std::string x = op.In("X");
  if (op.opset() >= 24) return op.Finish("Swish", {x}, {{"alpha", beta}});
  const std::string scaled =
      beta == 1 ? x : Binary(op, "Mul", x, op.Number(beta, op.TypeOf("X")));
  op.Finish("Mul", {x, op.Append("Sigmoid", {scaled})});
}

void Celu(OpExport& op) {
  if (op.TypeOf("X") == DType::kFloat64 && op.opset() < 28) {
    OpExport::Unsupported("Celu of ONNX takes float64 from opset 28 on");
  }
  op.Finish("Celu", {op.In("X")}, {{"alpha", op.Attr("alpha")}});
}

void IsFinite(OpExport& op) {
  const std::string x = op.In("X");
  const std::string not_a_number = op.Append("IsNaN", {x});
  const std::string infinite = op.Append("IsInf", {x});
  op.Finish("Not", {Binary(op, "Or", not_a_number, infinite)});
}

// Quantizes X to num_bits bits and back (the op's doc has the formula).
void QuantizeAndDequantize(OpExport& op) {
  const DType dtype = op.TypeOf("X");
  const std::string x = op.In("X");
  std::string min, max;
  if (op.Bool("range_given")) {
    min = op.Number(op.Float("min"), dtype);
    max = op.Number(op.Float("max"), dtype);
  } else {
    const AttributeMap scalar = {{"keepdims", int64_t{0}}};
    min = op.Append("ReduceMin", {x}, scalar);
    max = op.Append("ReduceMax", {x}, scalar);
  }
  const double steps =
      std::ldexp(1.0, static_cast<int>(op.Int("num_bits"))) - 1;
  const std::string scale =
      Binary(op, "Div", op.Number(steps, dtype), Binary(op, "Sub", max, min));
  const std::string clipped = op.Append("Clip", {x, min, max});
  const std::string scaled =
      Binary(op, "Mul", Binary(op, "Sub", clipped, min), scale);
  const std::string rounded =
      op.Append("Floor", {Binary(op, "Add", scaled, op.Number(0.5, dtype))});
  const std::string back =
      Binary(op, "Add", Binary(op, "Div", rounded, scale), min);
  op.Finish("Min", {back, max});
}

}  // namespace

const ExporterTable kElementwiseExporters = {
    {"atan2", nullptr, Widened::kNone, 0, "ONNX has no arc tangent of two"},
    {"bias_add", BiasAdd},
    {"bitwise_left_shift bitwise_right_shift", BitShift},
    {"celu", Celu, Widened::kHalves, 28},
    {"clip", Clip},
    {"elementwise_floordiv", FloorDiv, Widened::kHalves},
    {"elementwise_fmod", Fmod},
    {"elementwise_mod", Mod, Widened::kHalves},
    {"elementwise_pow", Pow},
    {"expm1", Expm1, Widened::kHalves},
    {"gelu", Gelu},
    {"isfinite", IsFinite},
    {"log1p", Log1p, Widened::kHalves},
    {"logistic_loss", LogisticLoss, Widened::kHalves},
    {"logsigmoid", LogSigmoid, Widened::kHalves},
    {"not_equal", NotEqual},
    {"prelu", PRelu},
    {"quantize_and_dequantize", QuantizeAndDequantize, Widened::kHalves},
    {"relu6", Relu6},
    {"rsqrt", Rsqrt, Widened::kHalves},
    {"scale", Scale, Widened::kHalves},
    {"square", Square},
    {"sum", Sum},
    {"swish", Swish, Widened::kHalves, 24},
    {"trunc", Trunc},
    {"xlogy", XLogY, Widened::kHalves},
};

}  // namespace sluice::onnx
