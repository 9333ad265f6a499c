#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

// Operators of opsets 1 to 6 that differ from those of opset 7, and operators
// that only old opsets have.
namespace sluice::onnx {
namespace {

// Imports the node as one of opset 7, which lacks these attributes.
void Without(Node& node, std::string_view attributes) {
  for (const std::string_view name : WordsOf(attributes)) {
    node.attributes().Ignore(name);
  }
  FindHandler(node.type(), 7)(node);
}

// Attribute axis says where the dims of input 1 begin in those of input 0;
// without it they end where those of input 0 end.
void Binary1(Node& node) {
  const bool placed = node.attributes().Flag("broadcast");
  const int64_t given = node.attributes().Int("axis", -1);
  const int64_t axis = placed && given != -1 ? AxisOfInput(node, 0, given) : -1;
  const Handler same = FindHandler(node.type(), 7);
  if (axis == -1 && same != nullptr) return same(node);
  if (node.type() == "Div" && !IsFloating(node.TypeOf(0))) {
    Node::Unsupported("attribute axis of integers");
  }
  node.FinishBinary(FindCounterpart(node.type())->name(),
                    {node.In(0), node.In(1)}, {{"axis", axis}});
}

// A slope is one number, or one for each channel, in dim 1.
void PRelu1(Node& node) {
  const DDim slope = node.Dims(1);
  const bool of_channels = slope.rank() == 1 && slope[0] != 1;
  node.FinishBinary("prelu", {node.In(0), node.In(1)},
                    {{"axis", int64_t{of_channels ? 1 : -1}}});
}

void Gemm1(Node& node) {
  Without(node, "broadcast");
}

void Inference1(Node& node) {
  Without(node, "is_test");
}

void Recurrent1(Node& node) {
  Without(node, "output_sequence");
}

void Concat1(Node& node) {
  node.Finish("concat", {{"X", node.AllInputs()}},
              {{"axis", node.attributes().Int("axis", 1)}});
}

void Reshape1(Node& node) {
  node.FinishUnary("reshape", node.In(0),
                   {{"shape", node.attributes().Ints("shape")}});
}

// The dtype is a name.
void Cast1(Node& node) {
  const std::string name = node.attributes().String("to", "");
  TensorProto::DataType number = TensorProto::UNDEFINED;
  TensorProto::DataType_Parse(name, &number);
  node.FinishUnary(
      "cast", node.In(0),
      {{"dtype", ToDType(number, "attribute to, " + Shown(name) + ",")}});
}

void Pad1(Node& node) {
  node.FinishUnary("pad", node.In(0),
                   {{"pads", node.attributes().Ints("paddings")},
                    {"mode", node.attributes().String("mode", "constant")},
                    {"value", node.attributes().Float("value", 0)}});
}

// Repeats one dim. How often, and which one, are inputs of the dtype of X.
void Tile1(Node& node) {
  const Tensor *times = node.Constant(1), *axis = node.Constant(2);
  if (times == nullptr || axis == nullptr) {
    Node::Unsupported("its tiles and axis are computed when the model runs");
  }
  SLUICE_ENFORCE(times->numel() == 1 && axis->numel() == 1,
                 ErrorCode::kInvalidArgument, "onnx.tile_numbers",
                 "its tiles have {} numbers and its axis {}; expected one each",
                 times->numel(), axis->numel());
  const auto at = [](const Tensor& number) {
    return static_cast<int64_t>(std::lround(ToDoubles(number)[0]));
  };
  Ints repeats(static_cast<size_t>(RankOf(node, 0)), 1);
  repeats[static_cast<size_t>(AxisOf(at(*axis), std::ssize(repeats)))] =
      at(*times);
  node.FinishUnary("tile", node.In(0), {{"repeats", repeats}});
}

void Upsample1(Node& node) {
  node.FinishUnary(
      "resize", node.In(0),
      {{"mode", node.attributes().String("mode", "nearest")},
       {"coordinate_transformation_mode", std::string("asymmetric")},
       {"nearest_mode", std::string("floor")},
       {"scales", Doubles{1, 1, node.attributes().Float("height_scale", 1),
                          node.attributes().Float("width_scale", 1)}}});
}

void Selu1(Node& node) {
  node.FinishUnary("selu", node.In(0),
                   {{"scale", node.attributes().Float("gamma", 1.0507)},
                    {"alpha", node.attributes().Float("alpha", 1.6732)}});
}

// alpha * x + beta
void Affine(Node& node) {
  node.FinishUnary("scale", node.In(0),
                   {{"scale", node.attributes().Float("alpha", 1)},
                    {"bias", node.attributes().Float("beta", 0)}});
}

// alpha * f(beta * x)
void Scaled1(Node& node) {
  const double alpha = node.attributes().Float("alpha", 1);
  const double beta = node.attributes().Float("beta", 1);
  const std::string inner = node.Unary("scale", node.In(0), {{"scale", beta}});
  node.FinishUnary(
      "scale",
      node.Unary(node.type() == "ScaledTanh" ? "tanh" : "softplus", inner),
      {{"scale", alpha}});
}

// scale * x plus a number for each channel, in dim 1.
void ImageScaler(Node& node) {
  const Doubles bias = node.attributes().Floats("bias");
  const std::string scaled = node.Unary(
      "scale", node.In(0), {{"scale", node.attributes().Float("scale", 1)}});
  const std::string numbers = node.NewConstant(Tensor::FromVector<double>(
      {static_cast<int64_t>(bias.size()), 1, 1}, bias));
  node.FinishBinary("elementwise_add",
                    {scaled, node.Cast(numbers, node.TypeOf(0))});
}

}  // namespace

const HandlerTable kOldHandlers = {
    {"Add And Div Equal Greater Less Mul Or Pow Sub Xor", 1, Binary1},
    {"And Equal Greater Less Or Sub Xor", 7, nullptr},
    {"Affine", 1, Affine},
    {"BatchNormalization Dropout", 1, Inference1},
    {"Cast", 1, Cast1},
    {"Concat", 1, Concat1},
    {"GRU LSTM RNN", 1, Recurrent1},
    {"Gemm", 1, Gemm1},
    {"ImageScaler", 1, ImageScaler},
    {"PRelu", 1, PRelu1},
    {"Pad", 1, Pad1},
    {"ParametricSoftplus ScaledTanh", 1, Scaled1},
    {"Reshape", 1, Reshape1},
    {"Selu", 1, Selu1},
    {"Tile", 1, Tile1},
    {"Tile", 6, nullptr},
    {"Upsample", 1, Upsample1},
};

}  // namespace sluice::onnx
