#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/handlers/late_parts.h"
#include "sluice/onnx/import/counterpart.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// Reshapes X with the conventions of op reshape. A constant remains one.
void ToShape(Node& node, const Ints& shape) {
  const Tensor* constant = node.Constant(0);
  if (constant != nullptr && std::all_of(shape.begin(), shape.end(),
                                         [](int64_t s) { return s > 0; })) {
    return node.FinishConstant(constant->Reshaped(DDim(shape)));
  }
  node.FinishUnary("reshape", node.In(0), {{"shape", shape}});
}

// A size of 0 means 0, so X must be empty.
void ToEmpty(Node& node, const Ints& shape) {
  const DDim x = node.Dims(0);
  const bool empty = std::count(x.begin(), x.end(), 0) > 0;
  if (!empty && !x.known()) {
    Node::Unsupported(
        "sizes of 0 are to be taken as they are (allowzero), and whether its "
        "input of shape {} has no elements is known only when the model runs",
        Printable(x));
  }
  SLUICE_ENFORCE(empty, ErrorCode::kInvalidArgument, "onnx.reshape_empty",
                 "its input has {} elements, and sizes of 0 are to be taken as "
                 "they are (allowzero); expected an input without elements",
                 x.numel());
  node.Finish("fill_constant", {},
              {{"shape", shape}, {"dtype", node.TypeOf(0)}});
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
    return ToEmpty(node, shape);
  }
  ToShape(node, shape);
}

void Transpose(Node& node) {
  Ints perm = node.attributes().Ints("perm");
  if (perm.empty()) {
    perm.resize(static_cast<size_t>(RankOf(node, 0)));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  node.FinishUnary("transpose", node.In(0), {{"axis", perm}});
}

void Concat(Node& node) {
  ArgVars parts;
  for (int i = 0; i < node.input_count(); ++i) {
    parts.push_back(node.In(i));
  }
  node.Finish("concat", {{"X", parts}},
              {{"axis", node.attributes().NeededInt("axis")}});
}

void Identity(Node& node) {
  if (const auto* sequence = node.Sequence(0)) {
    return node.FinishSequence(*sequence);
  }
  if (const Tensor* constant = node.Constant(0)) {
    return node.FinishConstant(*constant);
  }
  node.FinishUnary("assign", node.In(0));
}

// In inference nothing is dropped.
void Dropout(Node& node) {
  if (node.HasOutput(1)) {
    const std::string shape = node.Unary("shape", node.In(0));
    node.FinishOutput(1, "fill_constant", {{"Shape", {shape}}},
                      {{"dtype", DType::kBool}, {"value", 1.0}});
  }
  node.attributes().Ignore("ratio");
  node.attributes().Ignore("seed");
  Identity(node);
}

// In opset 7 the mask has the dtype of the input.
void Dropout7(Node& node) {
  node.AllowOutputs(1);
  Dropout(node);
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

int64_t SplitAxis(Node& node) {
  return AxisOfInput(node, 0, node.attributes().Int("axis", 0));
}

// Appends a slice for each output, with its size in `sizes` along the axis.
void FinishParts(Node& node, int64_t axis, const Ints& sizes) {
  int64_t begin = 0;
  for (int i = 0; i < node.output_count(); ++i) {
    const int64_t end = begin + sizes[i];
    if (node.HasOutput(i)) {
      node.FinishOutput(
          i, "slice", {{"X", {node.In(0)}}},
          {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}});
    }
    begin = end;
  }
}

// Splits into parts of equal size. From opset 18 on the last one may be
// smaller. `parts` is at least the number of outputs.
void SplitEqually(Node& node, int64_t parts) {
  const int64_t axis = SplitAxis(node);
  const int64_t size = node.SizeOf(node.In(0), static_cast<int>(axis));
  if (size < 0) {
    Node::Unsupported("dim {} of its input is known only when the model runs",
                      axis);
  }
  const int64_t part = size / parts + (size % parts == 0 ? 0 : 1);
  Ints sizes;
  int64_t left = size;
  for (int i = 0; i < node.output_count(); ++i) {
    sizes.push_back(std::min(left, part));
    left -= sizes.back();
  }
  FinishParts(node, axis, sizes);
}

// Without sizes, splits into equal parts.
void Split(Node& node, const Ints& sizes) {
  if (sizes.empty()) return SplitEqually(node, node.output_count());
  const int64_t axis = SplitAxis(node);
  const int64_t size = node.SizeOf(node.In(0), static_cast<int>(axis));
  SLUICE_ENFORCE(std::ssize(sizes) == node.output_count(),
                 ErrorCode::kInvalidArgument, "onnx.split_length",
                 "its input is split into {} outputs by {} sizes",
                 node.output_count(), sizes.size());
  CheckParts(sizes, size, axis);
  FinishParts(node, axis, sizes);
}

// Up to opset 12, the sizes are an attribute.
void Split2(Node& node) {
  Split(node, node.attributes().Ints("split"));
}

// Handles sizes that are computed at run time.
void SplitLate(Node& node) {
  const int64_t axis = SplitAxis(node);
  const DDim sizes = node.Dims(1);
  SLUICE_ENFORCE(!sizes.known() || sizes == DDim{node.output_count()},
                 ErrorCode::kInvalidArgument, "onnx.split_count",
                 "its sizes have shape {}; expected one for each of {} outputs",
                 Printable(sizes), node.output_count());
  const auto parts = LateParts(node, 1, node.output_count());
  for (int i = 0; i < node.output_count(); ++i) {
    if (!node.HasOutput(i)) continue;
    const LatePart& part = parts[static_cast<size_t>(i)];
    node.FinishOutput(
        i, "slice",
        {{"X", {node.In(0)}}, {"Starts", {part.start}}, {"Ends", {part.end}}},
        {{"axes", Ints{axis}}});
  }
}

// From opset 13 on, the sizes are an input.
void Split13(Node& node) {
  if (node.HasInput(1) && node.Constant(1) == nullptr) return SplitLate(node);
  Split(node, node.HasInput(1) ? node.ConstantInts(1, "sizes") : Ints());
}

// From opset 18 on, an attribute gives the number of parts without sizes.
void Split18(Node& node) {
  if (!node.attributes().Has("num_outputs")) return Split13(node);
  const int64_t parts = node.attributes().NeededInt("num_outputs");
  SLUICE_ENFORCE(!node.HasInput(1), ErrorCode::kInvalidArgument,
                 "onnx.split_both",
                 "it has attribute num_outputs, {}, and input 1 (its sizes); "
                 "expected one of them",
                 parts);
  SLUICE_ENFORCE(parts >= node.output_count(), ErrorCode::kInvalidArgument,
                 "onnx.split_outputs",
                 "attribute num_outputs is {}, and it has {} outputs", parts,
                 node.output_count());
  SplitEqually(node, parts);
}

void Size(Node& node) {
  const std::string shape = node.Unary("shape", node.In(0));
  node.FinishUnary("reduce_prod", shape);
}

// Attribute value of op pad is a float. For an integer that it cannot
// represent, X minus the value is padded with 0, and the value is added;
// integers wrap.
void Pad(Node& node) {
  const DType dtype = node.TypeOf(0);
  const bool large = dtype == DType::kInt64 || dtype == DType::kUInt64;
  const Tensor* constant = node.HasInput(2) ? node.Constant(2) : nullptr;
  if (!large || !node.HasInput(2) || node.input_count() > 4 ||
      (constant != nullptr && AreDoubles(*constant)) ||
      node.attributes().String("mode", "constant") != "constant") {
    return ImportCounterpart(*FindCounterpart("Pad"), node);
  }
  const std::string value =
      node.Unary("reshape", node.In(2), {{"shape", Ints()}});
  const std::string x = node.Binary("elementwise_sub", {node.In(0), value});
  Inputs inputs = {{"X", {x}}, {"Pads", {node.In(1)}}};
  if (node.HasInput(3)) inputs.push_back({"Axes", {node.In(3)}});
  const std::string padded = node.Append("pad", std::move(inputs));
  node.FinishBinary("elementwise_add", {padded, value});
}

// Operators without a row use schemas (import/counterpart.h).
constexpr HandlerRow kMovementRows[] = {
    {"Concat", 4, Concat},     {"Dropout", 1, Dropout7},
    {"Dropout", 10, Dropout},  {"Dropout", 12, Dropout12},
    {"Identity", 1, Identity}, {"Pad", 1, Pad},
    {"Reshape", 5, Reshape},   {"Size", 1, Size},
    {"Split", 2, Split2},      {"Split", 13, Split13},
    {"Split", 18, Split18},    {"Transpose", 1, Transpose},
};

}  // namespace

std::span<const HandlerRow> MovementHandlers() {
  return kMovementRows;
}

}  // namespace sluice::onnx
