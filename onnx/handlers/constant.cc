#include <algorithm>
#include <string>
#include <vector>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

template <typename T, typename Values>
Tensor ListOf(const Values& values) {
  return Tensor::FromVector<T>({static_cast<int64_t>(values.size())},
                               std::vector<T>(values.begin(), values.end()));
}

void Constant(Node& node) {
  Attributes& attributes = node.attributes();
  if (const auto* tensor = attributes.Tensor("value")) {
    // Models with weights as Constant nodes keep external data in initialisers.
    return node.FinishConstant(
        ToTensor(*tensor, "", "attribute value", &node.cost()));
  }
  if (const auto* sparse = attributes.SparseTensor("sparse_value")) {
    return node.FinishConstant(
        ToDense(*sparse, "attribute sparse_value", &node.cost()));
  }
  if (attributes.Has("value_float")) {
    return node.FinishConstant(Tensor::FromVector<float>(
        {}, {static_cast<float>(attributes.Float("value_float", 0))}));
  }
  if (attributes.Has("value_int")) {
    return node.FinishConstant(
        Tensor::FromVector<int64_t>({}, {attributes.Int("value_int", 0)}));
  }
  if (attributes.Has("value_floats")) {
    return node.FinishConstant(
        ListOf<float>(attributes.Floats("value_floats")));
  }
  if (attributes.Has("value_ints")) {
    return node.FinishConstant(ListOf<int64_t>(attributes.Ints("value_ints")));
  }
  Node::Unsupported(
      "its value is a string or missing; there are tensors and numbers");
}

// Models that only show a network create their weights like this.
void ConstantOfShape(Node& node) {
  Tensor value = Tensor::FromVector<float>({1}, {0.0F});
  if (const auto* tensor = node.attributes().Tensor("value")) {
    value = ToTensor(*tensor, "", "attribute value", &node.cost());
  }
  SLUICE_ENFORCE(
      value.numel() == 1, ErrorCode::kInvalidArgument, "onnx.fill_value",
      "attribute value has shape {}; expected one element", value.dims());
  const Ints sizes =
      node.Constant(0) == nullptr ? Ints() : node.ConstantInts(0, "sizes");
  for (size_t i = 0; i < sizes.size(); ++i) {
    SLUICE_ENFORCE(sizes[i] >= 0, ErrorCode::kInvalidArgument, "onnx.fill_size",
                   "size {} of its input {} is {}, a negative number; expected "
                   "0 or more",
                   i, Shown(node.In(0)), sizes[i]);
  }
  const std::string one = node.NewConstant(value.Reshaped({}));
  node.Finish("expand", {{"X", {one}}, {"Shape", {node.In(0)}}});
}

// Fills the input's shape with ones, and keeps the diagonal.
void EyeLike(Node& node) {
  const DDim dims = node.Dims(0);
  SLUICE_ENFORCE(!dims.rank_known() || dims.rank() == 2,
                 ErrorCode::kInvalidArgument, "onnx.eye_rank",
                 "its input has shape {}; expected a matrix", Printable(dims));
  const int64_t k = node.attributes().Int("k", 0);
  const DType dtype =
      node.attributes().Has("dtype")
          ? ToDType(static_cast<int>(node.attributes().NeededInt("dtype")),
                    "attribute dtype")
          : node.TypeOf(0);
  const std::string one = node.Unary(
      "cast", node.NewConstant(Tensor::FromVector<float>({1, 1}, {1})),
      {{"dtype", dtype}});
  std::string ones;
  if (dims.known()) {
    ones =
        node.Unary("expand", one, {{"shape", Ints(dims.begin(), dims.end())}});
  } else {
    const std::string shape = node.Unary("shape", node.In(0));
    ones = node.Append("expand", {{"X", {one}}, {"Shape", {shape}}});
  }
  const std::string upper = node.Unary("trilu", ones, {{"k", k}});
  node.FinishUnary("trilu", upper, {{"upper", false}, {"k", k}});
}

// Returns whether input `index` is an integer that an attribute of range, a
// float64, cannot represent.
bool IsBeyondAttributes(const Node& node, int index) {
  constexpr int64_t kWholeNumbers = int64_t{1} << 53;
  const Tensor* constant = node.Constant(index);
  if (constant == nullptr || constant->numel() != 1 ||
      constant->dtype() != DType::kInt64) {
    return false;
  }
  const int64_t number = constant->data<int64_t>()[0];
  return number <= -kWholeNumbers || number >= kWholeNumbers;
}

// Computes start + i * step for all i before the end.
void LargeRange(Node& node) {
  const Tensor* known = node.Constant(2);
  SLUICE_ENFORCE(known == nullptr || known->data<int64_t>()[0] != 0,
                 ErrorCode::kInvalidArgument, "onnx.range_step",
                 "its input 2 (the step) is 0; expected another number");
  const auto apply = [&node](const char* op, const std::string& x,
                             const std::string& y) {
    return node.Binary(op, {x, y});
  };
  const std::string zero = node.Whole(0);
  const std::string one = node.Whole(1);
  const std::string &start = node.In(0), &step = node.In(2);
  const std::string back = apply("elementwise_sub", start, node.In(1));
  const std::string count = apply(
      "elementwise_max",
      apply("elementwise_sub", zero, apply("elementwise_floordiv", back, step)),
      zero);
  const std::string index = node.Append(
      "range", {{"Start", {zero}}, {"End", {count}}, {"Step", {one}}});
  node.FinishBinary("elementwise_add",
                    {apply("elementwise_mul", index, step), start});
}

// Constant numbers become attributes of the op.
void Range(Node& node) {
  node.attributes().Ignore("stash_type");  // the op computes in float64
  const bool large = IsBeyondAttributes(node, 0) ||
                     IsBeyondAttributes(node, 1) || IsBeyondAttributes(node, 2);
  if (large) return LargeRange(node);
  const DType dtype = node.TypeOf(0);
  const DType computed = dtype == DType::kInt16 ? DType::kInt64 : dtype;
  Inputs inputs;
  const char* const operands[] = {"Start", "End", "Step"};
  for (int i = 0; i < 3; ++i) {
    inputs.push_back({operands[i], {node.Cast(node.In(i), computed)}});
  }
  const AttributeMap attributes = {{"dtype", computed}};
  if (computed == dtype) return node.Finish("range", inputs, attributes);
  node.FinishUnary("cast", node.Append("range", inputs, attributes),
                   {{"dtype", dtype}});
}

constexpr HandlerRow kConstantRows[] = {{"Constant", 1, Constant},
                                        {"ConstantOfShape", 9, ConstantOfShape},
                                        {"EyeLike", 9, EyeLike},
                                        {"Range", 11, Range}};

}  // namespace

std::span<const HandlerRow> ConstantHandlers() {
  return kConstantRows;
}

}  // namespace sluice::onnx
