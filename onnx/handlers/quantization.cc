#include <limits>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

// Integers are multiplied and added as float64, which has all their sums.
namespace sluice::onnx {

namespace {

DType TypeAttribute(Node& node, const char* name, DType otherwise) {
  const auto number = static_cast<int>(node.attributes().Int(name, 0));
  if (number == 0) return otherwise;
  return ToDType(number, std::string("attribute ") + name);
}

// Inputs from `first` on: X, Scale and perhaps ZeroPoint.
Inputs ScaledInputs(Node& node, int first) {
  Inputs inputs = {{"X", {node.In(first)}}, {"Scale", {node.In(first + 1)}}};
  if (node.HasInput(first + 2)) {
    inputs.push_back({"ZeroPoint", {node.In(first + 2)}});
  }
  return inputs;
}

// The division has the scale's precision unless the model says otherwise.
DType DivisionOf(Node& node) {
  DType precision = DType::kFloat64;
  for (const int input : {0, 1}) {
    if (platform::IsFloating(node.TypeOf(input))) {
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
  return node.Append(type, {{"X", {x}}, {"Y", {y}}}, {{"axis", axis}});
}

std::string Cast(Node& node, const std::string& x, DType dtype) {
  return node.Append("cast", {{"X", {x}}}, {{"dtype", dtype}});
}

// To uint8, with a range of 0 and all of X.
void DynamicQuantizeLinear(Node& node) {
  const std::string x = node.In(0);
  const std::string zero = Number(node, 0), all = Number(node, 255);
  const std::string max = Apply(node, "elementwise_max",
                                node.Append("reduce_max", {{"X", {x}}}), zero);
  const std::string min = Apply(node, "elementwise_min",
                                node.Append("reduce_min", {{"X", {x}}}), zero);
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

// Input `index` in float64, less the zero point, input `zero`. A zero point of
// several numbers goes along dim `axis`.
std::string Offset(Node& node, int index, int zero, int64_t axis) {
  std::string x = Cast(node, node.In(index), DType::kFloat64);
  if (!node.HasInput(zero)) return x;
  const DDim dims = node.Dims(zero);
  const bool vector = dims.rank_known() && dims.rank() == 1 && dims[0] != 1;
  return Apply(node, "elementwise_sub", x,
               Cast(node, node.In(zero), DType::kFloat64),
               vector ? axis : int64_t{-1});
}

// The dim of rows in a matrix or a batch of them.
int64_t RowsOf(const Node& node, int index) {
  const DDim dims = node.Dims(index);
  return dims.rank_known() && dims.rank() >= 2 ? dims.rank() - 2 : -1;
}

std::string Product(Node& node, int x, int x_zero, int y, int y_zero) {
  const std::string left = Offset(node, x, x_zero, RowsOf(node, x));
  const std::string right = Offset(node, y, y_zero, -1);
  return node.Append("matmul", {{"X", {left}}, {"Y", {right}}});
}

void MatMulInteger(Node& node) {
  const std::string product = Product(node, 0, 2, 1, 3);
  node.Finish("cast", {{"X", {product}}}, {{"dtype", DType::kInt32}});
}

// Output 0: whole numbers `sums`, which have the scale of inputs `x` and `y`
// together, with that of input `out` and the zero point after it. The scale of
// x goes along dim `x_axis`, that of y along `y_axis`.
void Requantize(Node& node,
                const std::string& sums,
                std::pair<int, int64_t> x,
                std::pair<int, int64_t> y,
                int out) {
  std::string scaled = sums;
  std::string factor;
  const bool vector = node.Dims(x.first).numel() > 1;
  if (vector) {
    scaled = Apply(node, "elementwise_mul", scaled,
                   Cast(node, node.In(x.first), DType::kFloat64), x.second);
    factor = node.In(y.first);
  } else {
    factor = Apply(node, "elementwise_mul", node.In(y.first), node.In(x.first));
  }
  factor = Apply(node, "elementwise_div", factor, node.In(out));
  const bool along = node.DimsOf(factor).numel() > 1;
  scaled = Apply(node, "elementwise_mul", scaled,
                 Cast(node, factor, DType::kFloat64),
                 along ? y.second : int64_t{-1});
  const DType dtype = node.TypeOf(out + 1);
  node.Finish("quantize_linear",
              {{"X", {scaled}},
               {"Scale", {Number(node, 1)}},
               {"ZeroPoint", {node.In(out + 1)}}},
              {{"dtype", dtype}, {"precision", DType::kFloat64}});
}

void QLinearMatMul(Node& node) {
  const std::string product = Product(node, 0, 2, 3, 5);
  Requantize(node, product, {1, RowsOf(node, 0)}, {4, -1}, 6);
}

// The convolution of input 0 with the filter, each less its zero point.
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
  const std::string sums = IntegerConv(node, 1, 2, 3);
  node.Finish("cast", {{"X", {sums}}}, {{"dtype", DType::kInt32}});
}

void QLinearConv(Node& node) {
  std::string sums = IntegerConv(node, 3, 2, 5);
  if (node.HasInput(8)) {
    sums = Apply(node, "elementwise_add", sums,
                 Cast(node, node.In(8), DType::kFloat64), 1);
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
