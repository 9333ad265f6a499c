#include "sluice/onnx/import/ranks.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

// Operators that take one rank only, with the ranks of their first inputs. A
// row with an attribute is for nodes that have it.
struct RankRow {
  std::string_view types;
  std::string_view attribute;
  std::vector<int> ranks;
};

const std::vector<RankRow>& RankRows() {
  static const auto* const kRows = new std::vector<RankRow>{
      {"Attention", "q_num_heads", {3, 3, 3}},
      {"Attention FlexAttention", "", {4, 4, 4}},
      {"CausalConvWithState Col2Im", "", {3}},
      {"DeformConv DepthToSpace RoiAlign SpaceToDepth", "", {4}},
      {"Gemm", "", {2, 2}},
  };
  return *kRows;
}

bool HasAttribute(const NodeProto& node, std::string_view name) {
  return std::any_of(
      node.attribute().begin(), node.attribute().end(),
      [name](const auto& attribute) { return attribute.name() == name; });
}

std::vector<int> RanksOf(const NodeProto& node) {
  for (const RankRow& row : RankRows()) {
    const auto types = WordsOf(row.types);
    if (std::count(types.begin(), types.end(), node.op_type()) > 0 &&
        (row.attribute.empty() || HasAttribute(node, row.attribute))) {
      return row.ranks;
    }
  }
  return {};
}

}  // namespace

std::optional<NodeProto> WithStatedRanks(const NodeProto& node,
                                         const std::string& location,
                                         ValueMap* values) {
  const std::vector<int> own = RanksOf(node);
  const bool has_graphs =
      std::any_of(node.attribute().begin(), node.attribute().end(),
                  [](const auto& attribute) { return attribute.has_g(); });
  if (has_graphs && own.empty()) return std::nullopt;
  std::optional<NodeProto> ranked;
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string& name = node.input(i);
    if (name.empty() || values->IsAbsent(name) ||
        values->FindSequence(name) != nullptr ||
        values->DimsOf(name).rank_known()) {
      continue;
    }
    const int rank = static_cast<size_t>(i) < own.size()
                         ? own[static_cast<size_t>(i)]
                         : values->StatedRank(name);
    if (rank == 0) continue;
    if (!ranked) ranked = node;
    values->cost().Need("its ops", kOpBytes);
    const std::string known = values->NewName(name + ".ranked");
    // Sizes of 0 copy those of X, of which there must be as many.
    values->program().AppendOp("reshape", {{"X", {name}}},
                               {{"shape", Ints(static_cast<size_t>(rank), 0)}},
                               {location, 0}, {{"Out", {known}}});
    ranked->set_input(i, known);
  }
  return ranked;
}

}  // namespace sluice::onnx
