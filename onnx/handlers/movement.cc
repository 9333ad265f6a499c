#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/import/term.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

// A constant remains one.
void Reshape(Node& node) {
  const bool allow_zero = node.attributes().Flag("allowzero");
  const Tensor* constant = node.Constant(0);
  const Ints shape =
      node.Constant(1) == nullptr ? Ints{0} : node.ConstantInts(1, "sizes");
  if (constant != nullptr && std::all_of(shape.begin(), shape.end(),
                                         [](int64_t s) { return s > 0; })) {
    return node.FinishConstant(constant->Reshaped(DDim(shape)));
  }
  node.Finish("reshape", {{"X", {node.In(0)}}, {"Shape", {node.In(1)}}},
              {{"allow_zero", allow_zero}});
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
  const ArgVars parts = node.AllInputs();
  node.Finish("concat", {{"X", parts}},
              {{"axis", node.attributes().NeededInt("axis")}});
}

void Identity(Node& node) {
  node.FinishValue(0, node.InputName(0));
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

// SplitEqually of a dim whose size is known only at run time: part i is from
// i * part to (i + 1) * part, cut at the size.
void SplitLateEqually(Node& node, int64_t axis, int64_t parts) {
  const std::string size =
      node.Unary("shape", node.In(0), {{"start", axis}, {"end", axis + 1}});
  const std::string more =
      node.Binary("elementwise_add", {size, node.Vector({parts - 1})});
  const std::string part =
      node.Binary("elementwise_floordiv", {more, node.Vector({parts})});
  std::string begin = node.Vector({0});
  for (int i = 0; i < node.output_count(); ++i) {
    const std::string end = node.Binary("elementwise_add", {begin, part});
    if (node.HasOutput(i)) {
      node.FinishOutput(
          i, "slice",
          {{"X", {node.In(0)}}, {"Starts", {begin}}, {"Ends", {end}}},
          {{"axes", Ints{axis}}});
    }
    begin = end;
  }
}

// Splits into parts of equal size. From opset 18 on the last one may be
// smaller. `parts` is at least the number of outputs.
void SplitEqually(Node& node, int64_t parts) {
  const int64_t axis = SplitAxis(node);
  const int64_t size = node.SizeOf(node.In(0), static_cast<int>(axis));
  if (size < 0) return SplitLateEqually(node, axis, parts);
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
  const std::string value = node.Reshape(node.In(2), {});
  const std::string x = node.Binary("elementwise_sub", {node.In(0), value});
  Inputs inputs = {{"X", {x}}, {"Pads", {node.In(1)}}};
  if (node.HasInput(3)) inputs.push_back({"Axes", {node.In(3)}});
  const std::string padded = node.Append("pad", std::move(inputs));
  node.FinishBinary("elementwise_add", {padded, value});
}

template <typename T, typename Values>
Tensor ListOf(const Values& values) {
  return Tensor::FromVector<T>({static_cast<int64_t>(values.size())},
                               std::vector<T>(values.begin(), values.end()));
}

void Constant(Node& node) {
  Attributes& attributes = node.attributes();
  if (const auto* tensor = attributes.Tensor("value")) {
    // Models with weights as Constant nodes keep external data in initialisers.
    if (IsOfTexts(*tensor)) node.MarkTexts();
    return node.FinishConstant(node.texts().ToTensor(
        *tensor, nullptr, "attribute value", &node.cost()));
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
  node.MarkTexts();
  if (attributes.Has("value_string")) {
    return node.FinishConstant(Tensor::FromVector<int64_t>(
        {}, {node.texts().NumberOf(attributes.String("value_string", ""))}));
  }
  if (attributes.Has("value_strings")) {
    return node.FinishConstant(ListOf<int64_t>(
        node.texts().NumbersOf(attributes.Strings("value_strings"))));
  }
  Node::Unsupported("it has no value");
}

// Models that only show a network create their weights like this.
void ConstantOfShape(Node& node) {
  Tensor value = Tensor::FromVector<float>({1}, {0.0F});
  if (const auto* tensor = node.attributes().Tensor("value")) {
    value = ToTensor(*tensor, nullptr, "attribute value", &node.cost());
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
  const DType dtype = node.attributes().Has("dtype")
                          ? node.attributes().NeededType("dtype")
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

// Computes start + i * step for all i before the end. The difference of two
// int64 is exact as a uint64.
void LargeRange(Node& node) {
  const Term zero = {&node, node.Whole(0)}, start = {&node, node.In(0)},
             end = {&node, node.In(1)}, step = {&node, node.In(2)};
  const Term up = zero < step, low = Where(up, start, end),
             high = Where(up, end, start);
  const Term size = Where(up, step, zero - step).As(DType::kUInt64);
  const Term last = (high - 1 - low).As(DType::kUInt64) / size;
  // Op range refuses more elements, and a step of 0.
  const auto at_most = [](const Term& x, double most) {
    return x.With("elementwise_min", x.Number(most)).As(DType::kInt64);
  };
  const Term count = Where(low < high, at_most(last, 0x1p41) + 1, zero);
  const Term index = {
      &node, node.Append("range", {{"Start", {zero.name}},
                                   {"End", {count.name}},
                                   {"Step", {at_most(size, 1).name}}})};
  node.FinishBinary("elementwise_add", {(index * step).name, start.name});
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

// Operators of onnxruntime. Its pads may be the row of a matrix.
void PadByRow(Node& node) {
  ArgVars inputs = {node.In(0), node.Reshape(node.In(1), {-1})};
  if (node.HasInput(2)) inputs.push_back(node.Reshape(node.In(2), {}));
  node.FinishUnary("assign", node.AppendOperator("Pad", inputs));
}

// The step may be omitted.
void RangeByOne(Node& node) {
  const auto number = [&node](int index) {
    return node.Reshape(node.In(index), {});
  };
  const std::string step =
      node.HasInput(2) ? number(2) : node.Number(1, node.TypeOf(0));
  node.FinishUnary("assign",
                   node.AppendOperator("Range", {number(0), number(1), step}));
}

void ExpandDims(Node& node) {
  const std::string axis =
      node.Reshape(node.Cast(node.In(1), DType::kInt64), {1});
  node.Finish("unsqueeze", {{"X", {node.In(0)}}, {"Axes", {axis}}});
}

}  // namespace

const HandlerTable kMovementHandlers = {
    {"Concat", 4, Concat},
    {"Identity", 1, Identity},
    {"Pad", 2, Pad},
    {"Reshape", 5, Reshape},
    {"Size", 1, Size},
    {"Split", 1, Split2},
    {"Split", 13, Split13},
    {"Split", 18, Split18},
    {"Transpose", 1, Transpose},
    {"Constant", 1, Constant},
    {"ConstantOfShape", 9, ConstantOfShape},
    {"EyeLike", 9, EyeLike},
    {"Range", 11, Range},
    {"com.microsoft.ExpandDims", 1, ExpandDims},
    {"com.microsoft.Pad", 1, PadByRow},
    {"com.microsoft.Range", 1, RangeByOne},
};

}  // namespace sluice::onnx
