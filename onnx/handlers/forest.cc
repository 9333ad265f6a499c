#include "sluice/onnx/handlers/forest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "sluice/onnx/handlers/scores.h"

namespace sluice::onnx {

namespace {

// The nodes of all trees by their ids.
class NodeIds {
 public:
  // Raises InvalidArgument for a node that is there twice.
  NodeIds(const Ints& trees, const Ints& ids) : trees_(trees), ids_(ids) {
    order_.resize(ids.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    const auto before = [this](size_t a, size_t b) { return Of(a) < Of(b); };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) {
      std::sort(order_.begin(), order_.end(), before);
    }
    const auto twice = std::adjacent_find(
        order_.begin(), order_.end(),
        [this](size_t a, size_t b) { return Of(a) == Of(b); });
    SLUICE_ENFORCE(twice == order_.end(), ErrorCode::kInvalidArgument,
                   "onnx.tree_node_twice", "node {} of tree {} is there twice",
                   ids_[*twice], trees_[*twice]);
  }

  // Returns the index of a node, or -1.
  int64_t Find(int64_t tree, int64_t id) const {
    const std::pair wanted(tree, id);
    const auto found = std::lower_bound(
        order_.begin(), order_.end(), wanted,
        [this](size_t at, const auto& key) { return Of(at) < key; });
    if (found == order_.end() || Of(*found) != wanted) return -1;
    return static_cast<int64_t>(*found);
  }

 private:
  std::pair<int64_t, int64_t> Of(size_t at) const {
    return {trees_[at], ids_[at]};
  }

  const Ints& trees_;
  const Ints& ids_;
  std::vector<size_t> order_;
};

// What errors call a node.
std::string ForestNodeName(const Forest& forest, int64_t at) {
  const auto i = static_cast<size_t>(at);
  if (forest.node_ids.empty()) return Format("tree node {}", at);
  return Format("node {} of tree {}", forest.node_ids[i], forest.tree_ids[i]);
}

int64_t ModeOf(const Forest& forest, size_t at, std::string_view name) {
  constexpr std::string_view kNames[] = {
      "LEAF",      "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
      "BRANCH_GT", "BRANCH_EQ",  "BRANCH_NEQ"};
  const auto* const found =
      std::find(std::begin(kNames), std::end(kNames), name);
  SLUICE_ENFORCE(found != std::end(kNames), ErrorCode::kInvalidArgument,
                 "onnx.tree_mode",
                 "the mode of {} is {}; expected LEAF, BRANCH_LEQ, BRANCH_LT, "
                 "BRANCH_GTE, BRANCH_GT, BRANCH_EQ or BRANCH_NEQ",
                 ForestNodeName(forest, static_cast<int64_t>(at)), Shown(name));
  return found - std::begin(kNames);
}

int64_t ChildOf(const Forest& forest,
                const NodeIds& ids,
                size_t at,
                const char* attribute,
                int64_t id) {
  const int64_t child = ids.Find(forest.tree_ids[at], id);
  SLUICE_ENFORCE(child >= 0, ErrorCode::kInvalidArgument, "onnx.tree_child",
                 "{} leads to node {} ({}), which the tree lacks",
                 ForestNodeName(forest, static_cast<int64_t>(at)), id,
                 attribute);
  return child;
}

// Reads the nodes; leaves have no weights yet.
void ReadNodes(Node& node, const NodeIds& ids, Forest* forest) {
  Attributes& attributes = node.attributes();
  const Names modes = attributes.Strings("nodes_modes");
  const Ints features = attributes.Ints("nodes_featureids");
  const Doubles splits = NumbersOf(node, "nodes_values");
  const Ints yes = attributes.Ints("nodes_truenodeids");
  const Ints no = attributes.Ints("nodes_falsenodeids");
  Ints nan_to_yes = attributes.Ints("nodes_missing_value_tracks_true");
  for (const char* unused : {"nodes_hitrates", "nodes_hitrates_as_tensor"}) {
    attributes.Ignore(unused);
  }
  const size_t count = forest->node_ids.size();
  if (nan_to_yes.empty()) nan_to_yes.resize(count);
  CheckCount("nodes_modes", modes.size(), count);
  CheckCount("nodes_featureids", features.size(), count);
  CheckCount("nodes_values", splits.size(), count);
  CheckCount("nodes_truenodeids", yes.size(), count);
  CheckCount("nodes_falsenodeids", no.size(), count);
  CheckCount("nodes_missing_value_tracks_true", nan_to_yes.size(), count);
  forest->nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    ForestNode& made = forest->nodes[i];
    made.mode = ModeOf(*forest, i, modes[i]);
    if (made.mode == 0) continue;
    if (nan_to_yes[i] != 0) made.mode += kForestNaNToYes;
    made.feature = features[i];
    made.split = splits[i];
    made.yes = ChildOf(*forest, ids, i, "nodes_truenodeids", yes[i]);
    made.no = ChildOf(*forest, ids, i, "nodes_falsenodeids", no[i]);
  }
}

// Gives leaves their weights. Those of other nodes have no effect.
void ReadWeights(Node& node,
                 const NodeIds& ids,
                 const std::string& kind,
                 Forest* forest) {
  const Ints trees = node.attributes().Ints(kind + "_treeids");
  const Ints nodes = node.attributes().Ints(kind + "_nodeids");
  const Ints targets = node.attributes().Ints(kind + "_ids");
  const Doubles weights = NumbersOf(node, kind + "_weights");
  CheckCount("treeids of weights", trees.size(), targets.size());
  CheckCount("nodeids of weights", nodes.size(), targets.size());
  CheckCount("weights", weights.size(), targets.size());
  std::vector<size_t> at(targets.size());  // the node of each weight
  Ints next(forest->nodes.size() + 1);  // where the next one of a node belongs
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t found = ids.Find(trees[i], nodes[i]);
    SLUICE_ENFORCE(found >= 0, ErrorCode::kInvalidArgument, "onnx.tree_weight",
                   "element {} of {}_nodeids is node {} of tree {}, which is "
                   "not there",
                   i, kind, nodes[i], trees[i]);
    at[i] = static_cast<size_t>(found);
    ++next[at[i] + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (size_t i = 0; i < forest->nodes.size(); ++i) {
    ForestNode& leaf = forest->nodes[i];
    if (leaf.mode != 0) continue;
    leaf.yes = next[i];
    leaf.no = next[i + 1];
  }
  forest->targets.resize(targets.size());
  forest->weights.resize(targets.size());
  for (size_t i = 0; i < at.size(); ++i) {
    const auto place = static_cast<size_t>(next[at[i]]++);
    forest->targets[place] = targets[i];
    forest->weights[place] = weights[i];
  }
}

}  // namespace

void CheckCount(const char* attribute, size_t count, size_t expected) {
  SLUICE_ENFORCE(count == expected, ErrorCode::kInvalidArgument,
                 "onnx.tree_count", "its {} are {}; expected {}", attribute,
                 count, expected);
}

Forest ReadForest(Node& node, const std::string& kind) {
  Forest forest;
  forest.tree_ids = node.attributes().Ints("nodes_treeids");
  forest.node_ids = node.attributes().Ints("nodes_nodeids");
  CheckCount("nodes_treeids", forest.tree_ids.size(), forest.node_ids.size());
  const NodeIds ids(forest.tree_ids, forest.node_ids);
  ReadNodes(node, ids, &forest);
  ReadWeights(node, ids, kind, &forest);
  std::set<int64_t> trees;
  for (size_t i = 0; i < forest.tree_ids.size(); ++i) {
    if (trees.insert(forest.tree_ids[i]).second) {
      forest.roots.push_back(static_cast<int64_t>(i));
    }
  }
  return forest;
}

namespace {

void CheckIds(const Node& node, const Forest& forest, int64_t targets) {
  int64_t features = FeaturesOf(node);
  if (features < 0) features = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < forest.nodes.size(); ++i) {
    const ForestNode& split = forest.nodes[i];
    SLUICE_ENFORCE(
        split.mode == 0 || (split.feature >= 0 && split.feature < features),
        ErrorCode::kInvalidArgument, "onnx.tree_feature",
        "{} compares feature {}; its input has features 0 to {}",
        ForestNodeName(forest, static_cast<int64_t>(i)), split.feature,
        features - 1);
  }
  for (const int64_t target : forest.targets) {
    SLUICE_ENFORCE(target >= 0 && target < targets, ErrorCode::kInvalidArgument,
                   "onnx.tree_target",
                   "a weight is of class or target {}; expected 0 to {}",
                   target, targets - 1);
  }
}

// Orders the nodes that roots lead to so that each comes before those that it
// leads to.
class ForestOrder {
 public:
  explicit ForestOrder(const Forest& forest)
      : forest_(forest), states_(forest.nodes.size(), State::kNew) {
    for (const int64_t root : forest.roots) {
      if (StateOf(root) == State::kNew) Visit(root);
    }
    std::reverse(order_.begin(), order_.end());
  }

  const Ints& order() const { return order_; }

 private:
  enum class State : uint8_t { kNew, kOpen, kPlaced };

  State& StateOf(int64_t at) { return states_[static_cast<size_t>(at)]; }

  // Without recursion, since a path may be long. Appends in reverse.
  void Visit(int64_t root) {
    Ints path = {root};
    while (!path.empty()) {
      const int64_t at = path.back();
      StateOf(at) = State::kOpen;
      const ForestNode& node = forest_.nodes[static_cast<size_t>(at)];
      const bool leads = node.mode != 0;
      if (leads && Enter(at, node.no, &path)) continue;
      if (leads && Enter(at, node.yes, &path)) continue;
      StateOf(at) = State::kPlaced;
      order_.push_back(at);
      path.pop_back();
    }
  }

  bool Enter(int64_t from, int64_t to, Ints* path) {
    SLUICE_ENFORCE(StateOf(to) != State::kOpen, ErrorCode::kInvalidArgument,
                   "onnx.tree_cycle", "{} leads back to {}: a cycle",
                   ForestNodeName(forest_, from), ForestNodeName(forest_, to));
    if (StateOf(to) == State::kPlaced) return false;
    path->push_back(to);
    return true;
  }

  const Forest& forest_;
  std::vector<State> states_;
  Ints order_;
};

}  // namespace

std::string AppendForest(Node& node,
                         const Forest& forest,
                         const std::string& x,
                         int64_t targets,
                         const std::string& aggregate) {
  CheckIds(node, forest, targets);
  const ForestOrder order(forest);
  const auto count = static_cast<int64_t>(order.order().size());
  std::vector<int32_t> places(forest.nodes.size());
  for (int32_t place = 0; const int64_t at : order.order()) {
    places[static_cast<size_t>(at)] = place++;
  }
  std::vector<int32_t> nodes;
  Doubles splits;
  nodes.reserve(static_cast<size_t>(4 * count));
  splits.reserve(static_cast<size_t>(count));
  for (const int64_t at : order.order()) {
    const ForestNode& from = forest.nodes[static_cast<size_t>(at)];
    const auto place = [&](int64_t to) {
      return from.mode == 0 ? static_cast<int32_t>(to)
                            : places[static_cast<size_t>(to)];
    };
    nodes.insert(nodes.end(), {static_cast<int32_t>(from.mode),
                               static_cast<int32_t>(from.feature),
                               place(from.yes), place(from.no)});
    splits.push_back(from.split);
  }
  std::vector<int32_t> roots;
  for (const int64_t root : forest.roots) {
    roots.push_back(places[static_cast<size_t>(root)]);
  }
  const auto whole = [&node](const DDim& dims,
                             const std::vector<int32_t>& values) {
    return node.NewConstant(Tensor::FromVector<int32_t>(dims, values));
  };
  const auto weights = static_cast<int64_t>(forest.weights.size());
  const DType dtype = node.DTypeOf(x);
  return node.Append(
      "tree_ensemble",
      {{"X", {x}},
       {"Nodes", {whole({count, 4}, nodes)}},
       {"Splits", {NewNumbers(node, {count}, splits, dtype)}},
       {"Roots", {whole({static_cast<int64_t>(roots.size())}, roots)}},
       {"Targets",
        {whole({weights}, {forest.targets.begin(), forest.targets.end()})}},
       {"Weights", {NewNumbers(node, {weights}, forest.weights, dtype)}}},
      {{"num_targets", targets}, {"aggregate", aggregate}});
}

}  // namespace sluice::onnx
