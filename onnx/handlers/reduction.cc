#include <string>

#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

// How many elements go into one result; raises Unimplemented while unknown.
int64_t CountOf(const Node& node, const Ints& axes) {
  const DDim x = node.Dims(0);
  const int rank = RankOf(node, 0);
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    bool reduced = axes.empty();
    for (const int64_t named : axes) {
      reduced = reduced || AxisOf(named, rank) == axis;
    }
    if (!reduced) continue;
    if (x[axis] < 0) {
      Node::Unsupported(
          "dim {} of its input {} is known only when the model runs", axis,
          platform::Printable(x));
    }
    count *= x[axis];
  }
  return count;
}

void Reduce(Node& node, bool mean, const Ints& axes, bool nothing) {
  const bool keep = node.attributes().Int("keepdims", 1) != 0;
  if (axes.empty() && nothing) {
    return node.Finish("assign", {{"X", {node.In(0)}}});
  }
  const AttributeMap attributes = {{"dim", axes}, {"keep_dim", keep}};
  const Inputs x = {{"X", {node.In(0)}}};
  if (!mean) return node.Finish("reduce_sum", x, attributes);
  const int64_t count = CountOf(node, axes);
  const std::string sum = node.Append("reduce_sum", x, attributes);
  node.Finish("scale", {{"X", {sum}}},
              {{"scale", 1.0 / static_cast<double>(count)}});
}

// The axes as an attribute.
template <bool kMean>
void ReduceOld(Node& node) {
  Reduce(node, kMean, node.attributes().Ints("axes"), false);
}

// The axes as an input.
template <bool kMean>
void ReduceNew(Node& node) {
  const bool nothing = node.attributes().Int("noop_with_empty_axes", 0) != 0;
  const Ints axes = node.HasInput(1) ? node.ConstantInts(1, "axes") : Ints();
  Reduce(node, kMean, axes, nothing);
}

constexpr HandlerRow kRows[] = {
    {"ReduceMean", 1, ReduceOld<true>},
    {"ReduceMean", 18, ReduceNew<true>},
    {"ReduceSum", 1, ReduceOld<false>},
    {"ReduceSum", 13, ReduceNew<false>},
};

}  // namespace

std::span<const HandlerRow> ReductionHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
