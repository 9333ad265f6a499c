#include "sluice/onnx/handlers/late_parts.h"

namespace sluice::onnx {

std::vector<LatePart> LateParts(Node& node, int sizes, int64_t count) {
  node.cost().Check("its parts, two ops each,", static_cast<uint64_t>(count),
                    2 * kOpBytes);
  const std::string ends = node.Append("cumsum", {{"X", {node.In(sizes)}}});
  const std::string starts =
      node.Append("elementwise_sub", {{"X", {ends}}, {"Y", {node.In(sizes)}}});
  std::vector<LatePart> parts;
  for (int64_t i = 0; i < count; ++i) {
    const AttributeMap one = {{"starts", Ints{i}}, {"ends", Ints{i + 1}}};
    parts.push_back({node.Append("slice", {{"X", {starts}}}, one),
                     node.Append("slice", {{"X", {ends}}}, one)});
  }
  return parts;
}

}  // namespace sluice::onnx
