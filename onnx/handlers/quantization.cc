#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/handlers/quantized_product.h"
#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

// Integers are multiplied and added in float64, or float32 where that is exact.
namespace sluice::onnx {

namespace {

DType TypeAttribute(Node& node, const char* name, DType otherwise) {
  const auto number = static_cast<int>(node.attributes().Int(name, 0));
  if (number == 0) return otherwise;
  return ToDType(number, std::string("attribute ") + name);
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
  node.FinishAs("quantize_linear",
                {{"dtype", dtype},
                 {"precision", precision},
                 {"axis", attributes.Int("axis", 1)},
                 {"block_size", attributes.Int("block_size", 0)},
                 {"saturate", attributes.Flag("saturate", true)}});
}

void DequantizeLinear(Node& node) {
  Attributes& attributes = node.attributes();
  const DType dtype = TypeAttribute(node, "output_dtype", node.TypeOf(1));
  node.FinishAs("dequantize_linear",
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

// The inputs of quantize_linear that quantize input 0 to uint8, with a range
// that includes 0 and all of it.
Inputs RangeOfInput(Node& node) {
  const std::string x = node.In(0);
  const std::string zero = Number(node, 0), all = Number(node, 255);
  const std::string max =
      Apply(node, "elementwise_max", node.Unary("reduce_max", x), zero);
  const std::string min =
      Apply(node, "elementwise_min", node.Unary("reduce_min", x), zero);
  const std::string range =
      node.Where({Apply(node, "equal", max, min), Number(node, 1),
                  Apply(node, "elementwise_sub", max, min)});
  const std::string scale = Apply(node, "elementwise_div", range, all);
  const std::string offset = Apply(node, "elementwise_sub", zero,
                                   Apply(node, "elementwise_div", min, scale));
  const std::string zero_point = node.Append(
      "quantize_linear", {{"X", {offset}}, {"Scale", {Number(node, 1)}}});
  return {{"X", {x}}, {"Scale", {scale}}, {"ZeroPoint", {zero_point}}};
}

void DynamicQuantizeLinear(Node& node) {
  const Inputs inputs = RangeOfInput(node);
  node.Finish("quantize_linear", inputs);
  node.FinishOutput(1, "assign", {{"X", inputs[1].second}});
  node.FinishOutput(2, "assign", {{"X", inputs[2].second}});
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
  return {node.Reshape(values, {-1}), axis};
}

// Multiplies x by the values, converted to `dtype`, or subtracts them.
std::string ApplyAlong(Node& node,
                       const char* type,
                       const std::string& x,
                       const Along& along,
                       DType dtype = DType::kFloat64) {
  return Apply(node, type, x, node.Cast(along.values, dtype), along.axis);
}

// x in `dtype`, minus a zero point along `axis`.
std::string Shifted(Node& node,
                    const std::string& x,
                    const std::string& zero,
                    int64_t axis,
                    DType dtype = DType::kFloat64) {
  return ApplyAlong(node, "elementwise_sub", node.Cast(x, dtype),
                    AlongAxis(node, zero, axis), dtype);
}

// Input `index` in `dtype`, minus the zero point (input `zero`), along `axis`.
std::string Offset(Node& node,
                   int index,
                   int zero,
                   int64_t axis,
                   DType dtype = DType::kFloat64) {
  if (node.HasInput(zero)) {
    return Shifted(node, node.In(index), node.In(zero), axis, dtype);
  }
  return node.Cast(node.In(index), dtype);
}

int ByteAt(const Tensor& bytes, int64_t index) {
  return bytes.dtype() == DType::kInt8 ? bytes.data<int8_t>()[index]
                                       : bytes.data<uint8_t>()[index];
}

bool IsByte(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8;
}

// The dtype in which products of a matrix, of dtype `x`, with input y are
// exact: float32 if both are bytes, y is constant, and no sum of products, in
// whatever order, can reach 2^24. Both are minus their zero points.
DType SumsOf(Node& node, DType x, int y, int y_zero) {
  const Tensor* values = node.Constant(y);
  const Tensor* zeros = node.HasInput(y_zero) ? node.Constant(y_zero) : nullptr;
  if (!IsByte(x) || values == nullptr || !IsByte(values->dtype()) ||
      values->dims().rank() < 1 ||
      (node.HasInput(y_zero) &&
       (zeros == nullptr || !IsByte(zeros->dtype())))) {
    return DType::kFloat64;
  }
  const DDim& dims = values->dims();
  const int64_t rows = dims[std::max(dims.rank() - 2, 0)];
  const int64_t columns = dims.rank() == 1 ? 1 : dims[dims.rank() - 1];
  const int64_t zero_count = zeros == nullptr ? 1 : zeros->numel();
  if (zero_count != 1 && zero_count != columns) return DType::kFloat64;
  // 383 is the largest difference of two bytes, one of which has a sign.
  constexpr int64_t kMost = ((1 << 24) - 1) / 383;
  std::vector<int64_t> sums;
  for (int64_t i = 0; i < values->numel(); ++i) {
    if (i % (rows * columns) == 0) sums.assign(static_cast<size_t>(columns), 0);
    const int64_t column = i % columns;
    const int zero = zeros == nullptr ? 0 : ByteAt(*zeros, column % zero_count);
    sums[column] += std::abs(ByteAt(*values, i) - zero);
    if (sums[column] > kMost) return DType::kFloat64;
  }
  return DType::kFloat32;
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
  const DType dtype = SumsOf(node, node.TypeOf(x), y, y_zero);
  const int64_t rows = RowsOf(node, node.In(x), x_zero);
  const std::string left = Offset(node, x, x_zero, rows, dtype);
  const std::string right = Offset(node, y, y_zero, -1, dtype);
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
  const std::string product =
      node.Cast(Product(node, 0, 2, 3, 5), DType::kFloat64);
  Requantize(node, product, {1, RowsOf(node, product, 1)}, {4, -1}, 6);
}

// Convolves input 0 with the filter, each minus its zero point.
std::string IntegerConv(Node& node, int filter, int x_zero, int filter_zero) {
  const size_t dims = ImageDims(node);
  const Windows windows = ReadWindows(node, dims, KernelOf(node, filter));
  const std::string x =
      PadLate(node, windows, AsImage(node, dims, Offset(node, 0, x_zero, -1)));
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

// Operators of onnxruntime that ONNX lacks.

constexpr const char* kSum = "elementwise_add";
constexpr const char* kTimes = "elementwise_mul";

// One number: input `index`, a scale or zero point of a whole tensor.
std::string OneNumber(Node& node, int index) {
  const DDim dims = node.Dims(index);
  if (dims.known() && dims.numel() != 1) {
    Node::Unsupported(
        "its input {} has {} numbers, for each column; there is one for all",
        index, dims.numel());
  }
  return node.Reshape(node.In(index), {});
}

// Sums of products of integers in the dtype of a scale, times it.
std::string ScaledSums(Node& node,
                       const std::string& sums,
                       const std::string& scale) {
  const Along along = AlongAxis(node, scale, -1);
  return node.Cast(ApplyAlong(node, kTimes, sums, along), node.DTypeOf(scale));
}

// Finishes with x plus an input that may be omitted.
void FinishPlus(Node& node, const std::string& x, int index) {
  if (!node.HasInput(index)) return node.FinishUnary("assign", x);
  node.FinishBinary(kSum, {x, node.In(index)});
}

void MatMulIntegerToFloat(Node& node) {
  const std::string product = FloatProduct(
      node,
      {.x = 0, .x_scale = 2, .x_zero = 4, .y = 1, .y_scale = 3, .y_zero = 5});
  FinishPlus(node, product, 6);
}

// Like MatMulIntegerToFloat, of input 0 quantized by its own range.
void DynamicQuantizeMatMul(Node& node) {
  RequireBytes(node, {1});
  const Inputs quantize = RangeOfInput(node);
  const std::string &x_scale = quantize[1].second[0],
                    &x_zero = quantize[2].second[0];
  const DType dtype = SumsOf(node, DType::kUInt8, 1, 3);
  const std::string left = Shifted(
      node, node.Append("quantize_linear", quantize), x_zero, -1, dtype);
  const std::string sums =
      node.Cast(node.Binary("matmul", {left, Offset(node, 1, 3, -1, dtype)}),
                DType::kFloat64);
  const std::string scale = Apply(node, kTimes, node.In(2), x_scale);
  FinishPlus(node, ScaledSums(node, sums, scale), 4);
}

void QLinearConvOfEither(Node& node) {
  if (!node.attributes().Flag("channels_last")) return QLinearConv(node);
  FinishChannelsLast(node, "QLinearConv", {0});
}

// QLinearAdd and the like: quantizes the result of Add on dequantized inputs.
// The scale and zero point of the result come first in QLinearConcat, else
// last. QLinearWhere begins with its condition.
void QLinear(Node& node) {
  const bool last = node.attributes().Flag("channels_last");
  const std::string type = node.type().substr(std::string("QLinear").size());
  const int first = type == "Concat" ? 2 : type == "Where" ? 1 : 0;
  const int end = first + (node.input_count() - 1 - first / 2) / 3 * 3;
  ArgVars operands;
  if (type == "Where") operands.push_back(node.In(0));
  for (int i = first; i < end; i += 3) {
    operands.push_back(node.Append("dequantize_linear",
                                   node.InputsOf("dequantize_linear", i),
                                   {{"dtype", DType::kFloat32}}));
  }
  if (last) operands[0] = ChannelsFirst(node, operands[0]);
  const int scale = type == "Concat" ? 0 : end;
  // Softmax of older opsets has rows of several dims. Without an axis there is
  // only the last, unlike in ONNX.
  const bool old = node.attributes().Int("opset", 13) < 13;
  const int64_t opset = old && node.attributes().Has("axis") ? 1 : 13;
  std::string result = node.AppendOperator(type, operands, opset);
  if (last) {
    result =
        node.Transpose(result, ChannelsLastOrder(node.DimsOf(result).rank()));
  }
  Inputs inputs = {{"X", {result}}, {"Scale", {node.In(scale)}}};
  if (node.HasInput(scale + 1)) {
    inputs.push_back({"ZeroPoint", {node.In(scale + 1)}});
  }
  node.Finish("quantize_linear", std::move(inputs),
              {{"dtype", node.TypeOf(first)}, {"precision", DType::kFloat32}});
}

// alpha * (A B + C), in the scale of A and B together.
void QGemm(Node& node) {
  const bool turned = node.attributes().Flag("transB");
  const std::string x = Offset(node, 0, 2, -1);
  const std::string y = Offset(node, 3, 5, turned ? 0 : -1);
  std::string sums =
      node.Binary("matmul", {x, y},
                  {{"transpose_X", node.attributes().Flag("transA")},
                   {"transpose_Y", turned}});
  if (node.HasInput(6)) {
    sums = Apply(node, kSum, sums, node.Cast(node.In(6), DType::kFloat64));
  }
  const double alpha = node.attributes().Float("alpha", 1);
  if (alpha != 1) sums = node.Unary("scale", sums, {{"scale", alpha}});
  if (node.HasInput(7)) return Requantize(node, sums, {1, -1}, {4, 1}, 7);
  const std::string scale = Apply(node, kTimes, node.In(1), node.In(4));
  node.FinishUnary("cast",
                   ApplyAlong(node, kTimes, sums, AlongAxis(node, scale, 1)),
                   {{"dtype", node.TypeOf(1)}});
}

}  // namespace

std::string FloatProduct(Node& node, const QuantizedFactors& factors) {
  RequireBytes(node, {factors.x, factors.y});
  std::string x = node.Cast(node.In(factors.x), DType::kFloat64);
  if (node.HasInput(factors.x_zero)) {
    x = Shifted(node, node.In(factors.x), OneNumber(node, factors.x_zero), -1);
  }
  const std::string y = Offset(node, factors.y, factors.y_zero, -1);
  const std::string scale = Apply(node, kTimes, node.In(factors.y_scale),
                                  OneNumber(node, factors.x_scale));
  return ScaledSums(node, node.Binary("matmul", {x, y}), scale);
}

const HandlerTable kQuantizationHandlers = {
    {"ConvInteger", 10, ConvInteger},
    {"DequantizeLinear", 10, DequantizeLinear},
    {"DynamicQuantizeLinear", 11, DynamicQuantizeLinear},
    {"MatMulInteger", 10, MatMulInteger},
    {"QLinearConv", 10, QLinearConv},
    {"QLinearMatMul", 10, QLinearMatMul},
    {"QuantizeLinear", 10, QuantizeLinear},
    {"com.microsoft.DequantizeLinear", 1, DequantizeLinear},
    {"com.microsoft.DynamicQuantizeMatMul", 1, DynamicQuantizeMatMul},
    {"com.microsoft.MatMulIntegerToFloat", 1, MatMulIntegerToFloat},
    {"com.microsoft.QGemm", 1, QGemm},
    {"com.microsoft.QLinearAdd com.microsoft.QLinearAveragePool "
     "com.microsoft.QLinearConcat com.microsoft.QLinearGlobalAveragePool "
     "com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul "
     "com.microsoft.QLinearReduceMean com.microsoft.QLinearSigmoid "
     "com.microsoft.QLinearSoftmax com.microsoft.QLinearWhere",
     1, QLinear},
    {"com.microsoft.QLinearConv", 1, QLinearConvOfEither},
    {"com.microsoft.QuantizeLinear", 1, QuantizeLinear}};

}  // namespace sluice::onnx
