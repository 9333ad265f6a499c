#include <initializer_list>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

// Integers are multiplied and added in float64, which is exact for these sums.
namespace sluice::onnx {

namespace {

DType TypeAttribute(Node& node, const char* name, DType otherwise) {
  const auto number = static_cast<int>(node.attributes().Int(name, 0));
  if (number == 0) return otherwise;
  return ToDType(number, std::string("attribute ") + name);
}

// Inputs from `first` on: X, Scale and optionally ZeroPoint.
Inputs ScaledInputs(Node& node, int first) {
  Inputs inputs = {{"X", {node.In(first)}}, {"Scale", {node.In(first + 1)}}};
  if (node.HasInput(first + 2)) {
    inputs.push_back({"ZeroPoint", {node.In(first + 2)}});
  }
  return inputs;
}

// The division has the scale's precision unless the model specifies another.
DType DivisionOf(Node& node) {
  DType precision = DType::kFloat64;
  for (const int input : {0, 1}) {
    if (IsFloating(node.TypeOf(input))) {
      precision = node.TypeOf(input);
    }
  }
  return TypeAttribute(node, "precision", precision);
}

void QuantizeLinear(Node& node) {
  Attributes& attributes = node.attributes();
  const DType implied = node.HasInput(2) ? node.TypeOf(2) : DType::kUInt8;
  const DType dtype = TypeAttribute(node, "output_dtype", implied);
  const DType precision = DivisionOf(node);
  node.Finish("quantize_linear", ScaledInputs(node, 0),
              {{"dtype", dtype},
               {"precision", precision},
               {"axis", attributes.Int("axis", 1)},
               {"block_size", attributes.Int("block_size", 0)},
               {"saturate", attributes.Int("saturate", 1) != 0}});
}

void DequantizeLinear(Node& node) {
  Attributes& attributes = node.attributes();
  const DType dtype = TypeAttribute(node, "output_dtype", node.TypeOf(1));
  node.Finish("dequantize_linear", ScaledInputs(node, 0),
              {{"dtype", dtype},
               {"axis", attributes.Int("axis", 1)},
               {"block_size", attributes.Int("block_size", 0)}});
}

std::string Number(Node& node, float value) {
  return node.NewConstant(Tensor::FromVector<float>({}, {value}));
}

std::string Apply(Node& node,
                  const char* type,
                  const std::string& x,
                  const std::string& y,
                  int64_t axis = -1) {
  return node.Binary(type, {x, y}, {{"axis", axis}});
}

// Quantizes to uint8 with a range that includes 0 and all of X.
void DynamicQuantizeLinear(Node& node) {
  const std::string x = node.In(0);
  const std::string zero = Number(node, 0), all = Number(node, 255);
  const std::string max =
      Apply(node, "elementwise_max", node.Unary("reduce_max", x), zero);
  const std::string min =
      Apply(node, "elementwise_min", node.Unary("reduce_min", x), zero);
  const std::string range =
      node.Append("where", {{"Condition", {Apply(node, "equal", max, min)}},
                            {"X", {Number(node, 1)}},
                            {"Y", {Apply(node, "elementwise_sub", max, min)}}});
  const std::string scale = Apply(node, "elementwise_div", range, all);
  const std::string offset = Apply(node, "elementwise_sub", zero,
                                   Apply(node, "elementwise_div", min, scale));
  const std::string zero_point = node.Append(
      "quantize_linear", {{"X", {offset}}, {"Scale", {Number(node, 1)}}});
  node.Finish("quantize_linear",
              {{"X", {x}}, {"Scale", {scale}}, {"ZeroPoint", {zero_point}}});
  node.FinishOutput(1, "assign", {{"X", {scale}}});
  node.FinishOutput(2, "assign", {{"X", {zero_point}}});
}

// ONNX allows no other dtypes here, and their products might be rounded.
void RequireBytes(const Node& node, std::initializer_list<int> inputs) {
  for (const int index : inputs) {
    const DType dtype = node.TypeOf(index);
    SLUICE_ENFORCE(dtype == DType::kInt8 || dtype == DType::kUInt8,
                   ErrorCode::kInvalidArgument, "onnx.quantized_dtype",
                   "its input {} is of {}; expected int8 or uint8", index,
                   dtype);
  }
}

// Returns whether a tensor may have more than one element.
bool MayBeSeveral(const DDim& dims) {
  return !dims.known() || dims.numel() != 1;
}

// Scales or zero points. A vector applies along dim `axis`. A single number, or
// values with the rank of the quantized tensor, need no axis (-1).
struct Along {
  std::string values;
  int64_t axis = -1;
};
// Values of unknown rank are reshaped to a vector.
Along AlongAxis(Node& node, const std::string& values, int64_t axis) {
  const DDim given = node.DimsOf(values);
  if (axis == -1 || given.rank_known()) {
    const bool vector = given.rank() == 1 && given[0] != 1;
    return {values, vector ? axis : int64_t{-1}};
  }
  return {node.Unary("reshape", values, {{"shape", Ints{-1}}}), axis};
}

// Multiplies x by the values, converted to float64, or subtracts them.
std::string ApplyAlong(Node& node,
                       const char* type,
                       const std::string& x,
                       const Along& along) {
  return Apply(node, type, x, node.Cast(along.values, DType::kFloat64),
               along.axis);
}

// Input `index` in float64, minus the zero point (input `zero`), along `axis`.
std::string Offset(Node& node, int index, int zero, int64_t axis) {
  std::string x = node.Cast(node.In(index), DType::kFloat64);
  if (!node.HasInput(zero)) return x;
  return ApplyAlong(node, "elementwise_sub", x,
                    AlongAxis(node, node.In(zero), axis));
}

// The row dim of a matrix or a batch of matrices, which the values of input
// `numbers` apply to; -1 for a vector, and for a single value.
int64_t RowsOf(const Node& node, const std::string& matrix, int numbers) {
  const int rank = node.DimsOf(matrix).rank();
  if (rank < 0 && node.HasInput(numbers) && MayBeSeveral(node.Dims(numbers))) {
    Node::Unsupported(
        "the rank of {} is unknown, and input {} may have a number for each of "
        "its rows",
        Shown(matrix), numbers);
  }
  return rank >= 2 ? rank - 2 : -1;
}

std::string Product(Node& node, int x, int x_zero, int y, int y_zero) {
  const int64_t rows = RowsOf(node, node.In(x), x_zero);
  const std::string left = Offset(node, x, x_zero, rows);
  const std::string right = Offset(node, y, y_zero, -1);
  return node.Binary("matmul", {left, right});
}

void MatMulInteger(Node& node) {
  RequireBytes(node, {0, 1});
  const std::string product = Product(node, 0, 2, 1, 3);
  node.FinishUnary("cast", product, {{"dtype", DType::kInt32}});
}

// Computes output 0 from the integers `sums`, whose scale is that of inputs `x`
// and `y` together. The result has the scale of input `out` and the zero point
// after it. The scales of x and y apply along dims `x_axis` and `y_axis`.
void Requantize(Node& node,
                const std::string& sums,
                std::pair<int, int64_t> x,
                std::pair<int, int64_t> y,
                int out) {
  std::string scaled = sums;
  std::string factor = node.In(y.first);
  if (MayBeSeveral(node.Dims(x.first))) {
    scaled = ApplyAlong(node, "elementwise_mul", scaled,
                        AlongAxis(node, node.In(x.first), x.second));
  } else {
    factor = Apply(node, "elementwise_mul", factor, node.In(x.first));
  }
  factor = Apply(node, "elementwise_div", factor, node.In(out));
  scaled = ApplyAlong(node, "elementwise_mul", scaled,
                      AlongAxis(node, factor, y.second));
  const DType dtype = node.TypeOf(out + 1);
  node.Finish("quantize_linear",
              {{"X", {scaled}},
               {"Scale", {Number(node, 1)}},
               {"ZeroPoint", {node.In(out + 1)}}},
              {{"dtype", dtype}, {"precision", DType::kFloat64}});
}

void QLinearMatMul(Node& node) {
  const std::string product = Product(node, 0, 2, 3, 5);
  Requantize(node, product, {1, RowsOf(node, product, 1)}, {4, -1}, 6);
}

// Convolves input 0 with the filter, each minus its zero point.
std::string IntegerConv(Node& node, int filter, int x_zero, int filter_zero) {
  const size_t dims = ImageDims(node);
  const Windows windows = ReadWindows(node, dims, KernelOf(node, filter));
  const std::string x = AsImage(node, dims, Offset(node, 0, x_zero, -1));
  const std::string weights =
      AsImage(node, dims, Offset(node, filter, filter_zero, 0));
  const std::string image = node.Append(
      dims == 2 ? "conv2d" : "conv3d", {{"Input", {x}}, {"Filter", {weights}}},
      {{"strides", windows.strides},
       {"paddings", windows.paddings},
       {"dilations", windows.dilations},
       {"groups", node.attributes().Int("group", 1)}},
      "Output");
  return FromImage(node, dims, image);
}

void ConvInteger(Node& node) {
  RequireBytes(node, {0, 1});
  const std::string sums = IntegerConv(node, 1, 2, 3);
  node.FinishUnary("cast", sums, {{"dtype", DType::kInt32}});
}

void QLinearConv(Node& node) {
  RequireBytes(node, {0, 3});
  std::string sums = IntegerConv(node, 3, 2, 5);
  if (node.HasInput(8)) {
    sums = Apply(node, "elementwise_add", sums,
                 node.Cast(node.In(8), DType::kFloat64), 1);
  }
  Requantize(node, sums, {1, -1}, {4, 1}, 6);
}

constexpr HandlerRow kQuantizationRows[] = {
    {"ConvInteger", 10, ConvInteger},
    {"DequantizeLinear", 10, DequantizeLinear},
    {"DynamicQuantizeLinear", 11, DynamicQuantizeLinear},
    {"MatMulInteger", 10, MatMulInteger},
    {"QLinearConv", 10, QLinearConv},
    {"QLinearMatMul", 10, QLinearMatMul},
    {"QuantizeLinear", 10, QuantizeLinear}};

}  // namespace

std::span<const HandlerRow> QuantizationHandlers() {
  return kQuantizationRows;
}

}  // namespace sluice::onnx
