#include <algorithm>
#include <cstring>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/error.h"

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
    // Models that hold their weights so keep external data to initialisers.
    return node.FinishConstant(ToTensor(*tensor, "", "attribute value"));
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
      "its value is a string, sparse or missing; there are tensors and "
      "numbers");
}

// Weights of models that only show a network are made so.
void ConstantOfShape(Node& node) {
  Tensor value = Tensor::FromVector<float>({1}, {0.0F});
  if (const auto* tensor = node.attributes().Tensor("value")) {
    value = ToTensor(*tensor, "", "attribute value");
  }
  SLUICE_ENFORCE(
      value.numel() == 1, ErrorCode::kInvalidArgument, "onnx.fill_value",
      "attribute value has shape {}; expected one element", value.dims());
  if (node.Constant(0) == nullptr) {
    return node.Finish(
        "fill_constant", {{"Shape", {node.In(0)}}},
        {{"dtype", value.dtype()}, {"value", framework::ToDoubles(value)[0]}});
  }
  Tensor filled;
  const DDim dims(node.ConstantInts(0, "sizes"));
  const int64_t count = filled.Resize(dims).numel();
  platform::VisitDType(value.dtype(), [&]<typename T>() {
    T* to = filled.mutable_data<T>(platform::CPUPlace());
    std::fill_n(to, count, value.data<T>()[0]);
  });
  node.FinishConstant(std::move(filled));
}

// Numbers that are known while importing are the op's attributes then.
void Range(Node& node) {
  node.Finish(
      "range",
      {{"Start", {node.In(0)}}, {"End", {node.In(1)}}, {"Step", {node.In(2)}}},
      {{"dtype", node.TypeOf(0)}});
}

constexpr HandlerRow kRows[] = {{"Constant", 1, Constant},
                                {"ConstantOfShape", 9, ConstantOfShape},
                                {"Range", 11, Range}};

}  // namespace

std::span<const HandlerRow> ConstantHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
