#include "sluice/onnx/import/node_order.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/subgraphs.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;
using Values = std::set<std::string_view>;

// Adds the values that a node reads, also in its subgraphs, unless they are
// made there.
void AddReads(const NodeProto& node, Values* reads) {
  reads->insert(node.input().begin(), node.input().end());
  VisitSubgraphs(node, [reads](const GraphProto& graph) {
    Values inner;
    for (const auto& output : graph.output())
      inner.insert(output.name());
    for (const NodeProto& other : graph.node())
      AddReads(other, &inner);
    for (const NodeProto& other : graph.node()) {
      for (const std::string& output : other.output())
        inner.erase(output);
    }
    for (const auto& input : graph.input())
      inner.erase(input.name());
    for (const auto& tensor : graph.initializer())
      inner.erase(tensor.name());
    reads->merge(inner);
  });
}

// Orders the nodes of one graph: each after those whose values it reads.
class NodeOrder {
 public:
  explicit NodeOrder(const Nodes& nodes)
      : nodes_(nodes),
        waits_for_(static_cast<size_t>(nodes.size())),
        states_(waits_for_.size(), State::kNew) {
    std::unordered_map<std::string_view, int> makers;
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].output()) {
        if (!output.empty()) makers.emplace(output, i);
      }
    }
    for (int i = 0; i < nodes.size(); ++i) {
      Values reads;
      AddReads(nodes[i], &reads);
      for (const std::string_view value : reads) {
        const auto maker = makers.find(value);
        // CheckNames refuses a node that reads its own output.
        if (maker == makers.end() || maker->second == i) continue;
        waits_for_[static_cast<size_t>(i)].push_back(maker->second);
      }
    }
    for (int i = 0; i < nodes.size(); ++i) {
      Place(i);
    }
  }

  const std::vector<int>& order() const { return order_; }

 private:
  enum class State : uint8_t { kNew, kWaiting, kPlaced };

  State& StateOf(int node) { return states_[static_cast<size_t>(node)]; }

  // Places a node, after those that it waits for.
  void Place(int first) {
    std::vector<int> path = {first};
    while (!path.empty()) {
      const int node = path.back();
      auto& waits_for = waits_for_[static_cast<size_t>(node)];
      if (StateOf(node) != State::kPlaced && !waits_for.empty()) {
        StateOf(node) = State::kWaiting;
        const int next = waits_for.back();
        waits_for.pop_back();
        if (StateOf(next) == State::kWaiting) RaiseCycle(path, next);
        path.push_back(next);
        continue;
      }
      if (StateOf(node) != State::kPlaced) order_.push_back(node);
      StateOf(node) = State::kPlaced;
      path.pop_back();
    }
  }

  // The nodes of the cycle are those of the path from `first` on.
  [[noreturn]] void RaiseCycle(const std::vector<int>& path, int first) const {
    constexpr int kMostNamed = 8;
    std::string names;
    int count = 0;
    for (auto node = std::find(path.begin(), path.end(), first);
         node != path.end(); ++node) {
      if (++count > kMostNamed) continue;
      names += (names.empty() ? "" : ", ") + NodeName(nodes_[*node], *node);
    }
    Raise(ErrorCode::kInvalidArgument, "onnx.cycle",
          "{} nodes form a cycle, each reads what the next one makes: {}{}",
          count, names, count > kMostNamed ? ", ..." : "");
  }

  const Nodes& nodes_;
  std::vector<std::vector<int>> waits_for_;
  std::vector<State> states_;
  std::vector<int> order_;
};

void Sort(Nodes* nodes) {
  for (NodeProto& node : *nodes) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Sort(attribute.mutable_g()->mutable_node());
      for (auto& graph : *attribute.mutable_graphs()) {
        Sort(graph.mutable_node());
      }
    }
  }
  Nodes sorted;
  const NodeOrder order(*nodes);
  for (const int node : order.order()) {
    sorted.Add()->Swap(nodes->Mutable(node));
  }
  nodes->Swap(&sorted);
}

}  // namespace

void SortNodes(::onnx::ModelProto* model) {
  Sort(model->mutable_graph()->mutable_node());
  for (auto& function : *model->mutable_functions()) {
    Sort(function.mutable_node());
  }
}

}  // namespace sluice::onnx
