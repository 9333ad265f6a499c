#include <algorithm>
#include <optional>
#include <unordered_set>

#include "sluice/framework/plan/graph.h"
#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

// Fuses chains of element-wise ops, each the only reader of the op before it,
// so that memory is traversed once. Runs after the passes that fuse such ops
// into products and convolutions.
namespace sluice {
namespace {

// A fused_elementwise, and the ids of the ops that it replaces.
struct Fused {
  OpDesc op;
  std::vector<int> ids;
};

// Returns the chains that begin with op `id` at its input `value`: the first
// two ops, the first three, and so on.
std::vector<Fused> ChainsFrom(const Graph& graph,
                              int id,
                              const std::string& value) {
  std::vector<Fused> chains;
  Fused chain;
  chain.op.type = "fused_elementwise";
  chain.op.inputs = {{"X", {value}}};
  std::string read = value;
  for (std::optional<int> next = id; next;
       next = graph.OnlyReader(chain.op.outputs[0].second[0])) {
    const OpDesc& op = graph.op(*next).desc;
    if (!AppendChainStep(graph, read, op, &chain.op)) break;
    chain.ids.push_back(*next);
    chain.op.outputs = {{"Out", op.outputs[0].second}};
    chain.op.location = op.location;
    chain.op.purpose = op.purpose;
    read = op.outputs[0].second[0];
    if (chain.ids.size() > 1) chains.push_back(chain);
  }
  return chains;
}

// Returns the ids of the removed ops; none if no kernel accepts a chain.
std::vector<int> FuseFrom(Graph& graph, int id) {
  if (!CanBeStep(graph.op(id).desc)) return {};
  const OpDesc op = graph.op(id).desc;
  const auto dtypes = FloatDTypes();
  for (const char* argument : {"X", "Y"}) {
    if (op.Input(argument).empty()) continue;
    const std::string& value = op.Input(argument)[0];
    const bool is_float = std::find(dtypes.begin(), dtypes.end(),
                                    graph.dtype(value)) != dtypes.end();
    if (!is_float) return {};
    auto chains = ChainsFrom(graph, id, value);
    for (; !chains.empty(); chains.pop_back()) {
      Fused& longest = chains.back();
      if (!graph.Replace(longest.ids, longest.op)) continue;
      longest.ids.pop_back();
      return longest.ids;
    }
  }
  return {};
}

int FuseElementwise(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  std::unordered_set<int> gone;
  for (const int id : order) {
    if (gone.count(id) > 0) continue;
    const std::vector<int> ids = FuseFrom(graph, id);
    gone.insert(ids.begin(), ids.end());
    if (!ids.empty()) ++changes;
  }
  return changes;
}

}  // namespace

REGISTER_PASS(fuse_elementwise, 40, FuseElementwise);

}  // namespace sluice
