#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

// X in another shape, in the terms of the op reshape. A constant stays one.
void ToShape(Node& node, const Ints& shape) {
  const Tensor* constant = node.Constant(0);
  if (constant != nullptr && std::all_of(shape.begin(), shape.end(),
                                         [](int64_t s) { return s > 0; })) {
    return node.FinishConstant(constant->Reshaped(DDim(shape)));
  }
  node.Finish("reshape", {{"X", {node.In(0)}}}, {{"shape", shape}});
}

void Reshape(Node& node) {
  if (node.Constant(1) == nullptr) {
    if (node.attributes().Int("allowzero", 0) != 0) {
      Node::Unsupported("allowzero with sizes that are computed");
    }
    return node.Finish("reshape",
                       {{"X", {node.In(0)}}, {"Shape", {node.In(1)}}});
  }
  const Ints shape = node.ConstantInts(1, "sizes");
  const bool zeros = std::count(shape.begin(), shape.end(), 0) > 0;
  if (node.attributes().Int("allowzero", 0) != 0 && zeros) {
    Node::Unsupported("allowzero: a result without elements");
  }
  ToShape(node, shape);
}

void Transpose(Node& node) {
  const int rank = RankOf(node, 0);
  Ints perm = node.attributes().Ints("perm");
  if (perm.empty()) {
    perm.resize(static_cast<size_t>(rank));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  node.Finish("transpose", {{"X", {node.In(0)}}}, {{"axis", perm}});
}

void Concat(Node& node) {
  framework::ArgVars parts;
  for (int i = 0; i < node.input_count(); ++i) {
    parts.push_back(node.In(i));
  }
  node.Finish("concat", {{"X", parts}},
              {{"axis", node.attributes().NeededInt("axis")}});
}

void Identity(Node& node) {
  if (const Tensor* constant = node.Constant(0)) {
    return node.FinishConstant(*constant);
  }
  node.Finish("assign", {{"X", {node.In(0)}}});
}

void Dropout(Node& node) {
  node.AllowOutputs(1);
  node.attributes().Ignore("ratio");
  node.attributes().Ignore("seed");
  Identity(node);
}

void Dropout12(Node& node) {
  if (node.HasInput(2)) {
    const Tensor* training = node.Constant(2);
    if (training == nullptr || training->dtype() != DType::kBool ||
        training->numel() != 1 || training->data<bool>()[0]) {
      Node::Unsupported("it may drop elements (training_mode)");
    }
  }
  Dropout(node);
}

// Others are known by their schemas (import/counterpart.h).
constexpr HandlerRow kRows[] = {
    {"Concat", 4, Concat},      {"Dropout", 1, Dropout},
    {"Dropout", 12, Dropout12}, {"Identity", 1, Identity},
    {"Reshape", 5, Reshape},    {"Transpose", 1, Transpose},
};

}  // namespace

std::span<const HandlerRow> MovementHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
