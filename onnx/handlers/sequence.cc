#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/cancel.h"

// Sequences of tensors whose length is known at import. The program contains
// only their tensors.
namespace sluice::onnx {
namespace {

// The index in a sequence with `count` positions; negative ones count from the
// end.
int64_t PositionOf(const Node& node, int index, int64_t count) {
  const int64_t position = KnownNumber(node, index, "position");
  SLUICE_ENFORCE(position >= -count && position < count,
                 ErrorCode::kInvalidArgument, "onnx.sequence_position",
                 "its position is {} in a sequence of {} tensors", position,
                 count);
  return position < 0 ? position + count : position;
}

// Checks that `tensor` may be in a sequence with `first`.
void CheckElement(const Node& node,
                  const std::string& tensor,
                  const std::string& first) {
  const DType dtype = node.DTypeOf(tensor);
  SLUICE_ENFORCE(dtype == node.DTypeOf(first), ErrorCode::kInvalidArgument,
                 "onnx.sequence_dtype",
                 "{} is {}, and the first tensor of its sequence {}",
                 Shown(tensor), dtype, node.DTypeOf(first));
}

void SequenceEmpty(Node& node) {
  node.attributes().Ignore("dtype");
  node.FinishSequence({});
}

void SequenceConstruct(Node& node) {
  Names tensors = node.AllInputs();
  for (const std::string& tensor : tensors) {
    CheckElement(node, tensor, tensors[0]);
  }
  node.FinishSequence(std::move(tensors));
}

// Inserts before the tensor at the position, or at the end.
void SequenceInsert(Node& node) {
  const Names& before = SequenceOf(node, 0);
  const int64_t count = std::ssize(before);
  if (count > 0) CheckElement(node, node.In(1), before[0]);
  const bool at_end =
      !node.HasInput(2) || KnownNumber(node, 2, "position") == count;
  const int64_t position = at_end ? count : PositionOf(node, 2, count);
  const std::string& tensor = node.In(1);
  node.cost().Need("sequences", sizeof(std::string) + tensor.size());
  Names& tensors = node.FinishSequenceOf(0);
  tensors.insert(tensors.begin() + position, tensor);
}

void SequenceErase(Node& node) {
  const auto count = static_cast<int64_t>(SequenceOf(node, 0).size());
  SLUICE_ENFORCE(count > 0, ErrorCode::kInvalidArgument, "onnx.sequence_empty",
                 "its sequence has no tensors");
  const int64_t position =
      node.HasInput(1) ? PositionOf(node, 1, count) : count - 1;
  Names& tensors = node.FinishSequenceOf(0);
  tensors.erase(tensors.begin() + position);
}

void SequenceAt(Node& node) {
  const Names& tensors = SequenceOf(node, 0);
  const auto count = static_cast<int64_t>(tensors.size());
  const std::string tensor =
      tensors[static_cast<size_t>(PositionOf(node, 1, count))];
  node.FinishUnary("assign", tensor);
}

void SequenceLength(Node& node) {
  const auto count = static_cast<int64_t>(SequenceOf(node, 0).size());
  node.FinishConstant(Tensor::FromVector<int64_t>({}, {count}));
}

// Inserts a dim of size 1 into the tensor.
std::string WithDim(Node& node, const std::string& tensor, int64_t axis) {
  const Tensor* constant = node.ConstantOf(tensor);
  if (constant == nullptr) {
    return node.Unsqueeze(tensor, {axis});
  }
  const DDim& dims = constant->dims();
  Ints sizes(dims.begin(), dims.end());
  sizes.insert(sizes.begin() + AxisOf(axis, dims.rank() + 1), 1);
  return node.NewConstant(constant->Reshaped(DDim(sizes)));
}

// Concatenates along an existing or a new dim.
void ConcatFromSequence(Node& node) {
  Names tensors = SequenceOf(node, 0);
  const int64_t axis = node.attributes().NeededInt("axis");
  SLUICE_ENFORCE(!tensors.empty(), ErrorCode::kInvalidArgument,
                 "onnx.sequence_concat", "its sequence has no tensors");
  if (node.attributes().Flag("new_axis")) {
    for (std::string& tensor : tensors) {
      tensor = WithDim(node, tensor, axis);
    }
  }
  node.Finish("concat", {{"X", tensors}}, {{"axis", axis}});
}

// Slices elements [begin, end) along the axis; drops the dim unless `keeps`.
Tensor PartOf(
    const Tensor& x, int64_t axis, int64_t begin, int64_t end, bool keeps) {
  const Ints sizes(x.dims().begin(), x.dims().end());
  const auto at = sizes.begin() + axis;
  Ints dims = sizes;
  dims[axis] = end - begin;
  Tensor part;
  part.Resize(DDim(dims));
  auto* to = static_cast<char*>(part.mutable_data(x.dtype(), CPUPlace()));
  if (part.numel() > 0) {
    const int64_t inner = std::accumulate(
        at + 1, sizes.end(), static_cast<int64_t>(SizeOf(x.dtype())),
        std::multiplies<>());
    const int64_t bytes = (end - begin) * inner;
    const auto* from = static_cast<const char*>(x.raw_data()) + begin * inner;
    const auto* last = to + part.bytes();
    for (; to < last; to += bytes, from += *at * inner) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
  }
  if (keeps) return part;
  dims.erase(dims.begin() + axis);
  return part.Reshaped(DDim(dims));
}

// Slices the input. A constant is copied here, because it may have very many
// parts, and computing each of them by an op takes a hundred times as long.
std::string Part(
    Node& node, int64_t axis, int64_t begin, int64_t end, bool keeps) {
  if (const Tensor* constant = node.Constant(0)) {
    CheckCancelled();
    node.cost().Need("its parts", kOpBytes);
    return node.NewConstant(PartOf(*constant, axis, begin, end, keeps));
  }
  std::string part = node.Slice(node.In(0), begin, end, {axis});
  if (keeps) return part;
  return node.Unary("squeeze", part, {{"axes", Ints{axis}}});
}

// The import cost of one part, in addition to its ops: a declared size alone
// may ask for very many parts.
constexpr uint64_t kPartBytes = 8 * kOpBytes;

// Parts of equal size; the last may be smaller.
Names EqualParts(Node& node, int64_t axis, int64_t part, bool keeps) {
  const int64_t size = node.SizeOf(node.In(0), static_cast<int>(axis));
  SLUICE_ENFORCE(part > 0, ErrorCode::kInvalidArgument, "onnx.sequence_part",
                 "its input is split into parts of size {}; expected 1 or more",
                 part);
  if (size < 0) {
    Node::Unsupported(
        "dim {} of its input, and so the length of the sequence, is known only "
        "when the model runs",
        axis);
  }
  node.cost().Need("its parts", static_cast<uint64_t>(size / part), kPartBytes);
  Names parts;
  for (int64_t begin = 0; begin < size; begin += std::min(part, size - begin)) {
    parts.push_back(
        Part(node, axis, begin, begin + std::min(part, size - begin), keeps));
  }
  return parts;
}

Names KnownParts(Node& node, int64_t axis, const Ints& sizes) {
  const int64_t size = node.SizeOf(node.In(0), static_cast<int>(axis));
  CheckParts(sizes, size, axis);
  Names parts;
  int64_t begin = 0;
  for (const int64_t part : sizes) {
    parts.push_back(Part(node, axis, begin, begin + part, true));
    begin += part;
  }
  return parts;
}

// One part for each of the sizes.
Names PartsOfSizes(Node& node, int64_t axis) {
  const DDim sizes = node.Dims(1);
  if (!sizes.known() || sizes.rank() != 1) {
    Node::Unsupported("the shape of its sizes is {}; expected a known length",
                      Printable(sizes));
  }
  if (node.Constant(1) != nullptr) {
    return KnownParts(node, axis, node.ConstantInts(1, "sizes"));
  }
  Names parts;
  for (const LatePart& part : LateParts(node, 1, sizes[0])) {
    parts.push_back(node.Append(
        "slice",
        {{"X", {node.In(0)}}, {"Starts", {part.start}}, {"Ends", {part.end}}},
        {{"axes", Ints{axis}}}));
  }
  return parts;
}

void SplitToSequence(Node& node) {
  const int64_t axis = AxisOfInput(node, 0, node.attributes().Int("axis", 0));
  const bool keeps = node.attributes().Flag("keepdims", true);
  if (!node.HasInput(1)) {
    return node.FinishSequence(EqualParts(node, axis, 1, keeps));
  }
  const bool one_size = node.Dims(1) == DDim{};
  node.FinishSequence(
      one_size ? EqualParts(node, axis, KnownNumber(node, 1, "size"), true)
               : PartsOfSizes(node, axis));
}

// An optional value exists while a model is read: it is its tensor or sequence,
// or absent.
void Optional(Node& node) {
  node.attributes().Ignore("type");
  if (!node.HasInput(0)) return node.FinishAbsent();
  node.FinishValue(0, node.InputName(0));
}

void OptionalGetElement(Node& node) {
  if (!node.HasInput(0)) Node::Unsupported("an optional value without a value");
  node.FinishValue(0, node.InputName(0));
}

void OptionalHasElement(Node& node) {
  Tensor has;
  has.Resize(DDim());
  *has.mutable_data<bool>(CPUPlace()) = node.HasInput(0);
  node.FinishConstant(std::move(has));
}

}  // namespace

const HandlerTable kSequenceHandlers = {
    {"ConcatFromSequence", 11, ConcatFromSequence},
    {"Optional", 15, Optional},
    {"OptionalGetElement", 15, OptionalGetElement},
    {"OptionalHasElement", 15, OptionalHasElement},
    {"SequenceAt", 11, SequenceAt},
    {"SequenceConstruct", 11, SequenceConstruct},
    {"SequenceEmpty", 11, SequenceEmpty},
    {"SequenceErase", 11, SequenceErase},
    {"SequenceInsert", 11, SequenceInsert},
    {"SequenceLength", 11, SequenceLength},
    {"SplitToSequence", 11, SplitToSequence},
};

}  // namespace sluice::onnx
