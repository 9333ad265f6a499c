#include "sluice/onnx/import/graph_check.h"

#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/import/subgraphs.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

// Maps each value to the index of the node that makes it.
class Makers {
 public:
  static constexpr int kInput = -1;
  static constexpr int kInitialiser = -2;

  // `around` is for the enclosing graph, whose node `holder` has this one.
  explicit Makers(const GraphProto& graph,
                  const Makers* around = nullptr,
                  int holder = 0)
      : graph_(graph), around_(around), holder_(holder) {
    for (const auto& input : graph.input()) {
      SLUICE_ENFORCE(!input.name().empty(), ErrorCode::kInvalidArgument,
                     "onnx.input_name", "an input of the graph has no name");
      Add(input.name(), kInput);
    }
    for (const auto& tensor : graph.initializer()) {
      SLUICE_ENFORCE(!tensor.name().empty(), ErrorCode::kInvalidArgument,
                     "onnx.initialiser_name",
                     "an initialiser of the graph has no name");
      // In IR version 3 an initialiser is also an input; both are one value.
      const auto known = makers_.find(tensor.name());
      if (known != makers_.end() && known->second == kInput) {
        known->second = kInitialiser;
        continue;
      }
      Add(tensor.name(), kInitialiser);
    }
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& output : graph.node(i).output()) {
        if (!output.empty()) Add(output, i);
      }
    }
  }

  std::string Describe(int maker) const {
    if (maker == kInput) return "an input of the graph";
    if (maker == kInitialiser) return "an initialiser";
    return "an output of " + NodeName(graph_.node(maker), maker);
  }

  // Checks that the value exists before node `user`.
  void CheckUse(const std::string& name, int user) const {
    const auto maker = makers_.find(name);
    if (maker == makers_.end() && around_ != nullptr && around_->Knows(name)) {
      return around_->CheckUse(name, holder_);
    }
    if (maker == makers_.end()) {
      Raise(ErrorCode::kInvalidArgument, "onnx.value_missing",
            "{} uses value {}, which nothing makes{}",
            NodeName(graph_.node(user), user), Shown(name), Suggestion(name));
    }
    SLUICE_ENFORCE(maker->second != user, ErrorCode::kInvalidArgument,
                   "onnx.cycle", "{} uses its own output {}",
                   NodeName(graph_.node(user), user), Shown(name));
    SLUICE_ENFORCE(maker->second < user, ErrorCode::kInvalidArgument,
                   "onnx.unsorted",
                   "{} uses value {} before {} makes it: the nodes are not "
                   "sorted, or form a cycle",
                   NodeName(graph_.node(user), user), Shown(name),
                   maker->second < 0
                       ? Describe(maker->second)
                       : NodeName(graph_.node(maker->second), maker->second));
  }

  void CheckOutput(const std::string& name) const {
    if (!makers_.contains(name) && around_ != nullptr && around_->Knows(name)) {
      return around_->CheckUse(name, holder_);
    }
    SLUICE_ENFORCE(makers_.contains(name), ErrorCode::kInvalidArgument,
                   "onnx.output_missing",
                   "nothing makes {}, an output of the graph{}", Shown(name),
                   Suggestion(name));
  }

  bool Knows(const std::string& name) const {
    return makers_.contains(name) ||
           (around_ != nullptr && around_->Knows(name));
  }

 private:
  void Add(const std::string& name, int maker) {
    const auto [known, added] = makers_.emplace(name, maker);
    SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "onnx.value_twice",
                   "value {} is made twice: it is {} and {}", Shown(name),
                   Describe(known->second), Describe(maker));
  }

  std::string Suggestion(const std::string& name) const {
    std::vector<std::string> names;
    names.reserve(makers_.size());
    for (const auto& [known, maker] : makers_) {
      names.emplace_back(known);
    }
    return SuggestNames(name, names);
  }

  const GraphProto& graph_;
  const Makers* around_;
  int holder_;
  std::unordered_map<std::string_view, int> makers_;
};

void CheckGraph(const GraphProto& graph, const Makers& makers) {
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      if (!input.empty()) makers.CheckUse(input, i);
    }
    VisitSubgraphs(graph.node(i), [&](const GraphProto& inner) {
      try {
        CheckGraph(inner, Makers(inner, &makers, i));
      } catch (Error& error) {
        error.AddContext("in a graph of " + NodeName(graph.node(i), i));
        throw;
      }
    });
  }
  for (const auto& output : graph.output()) {
    makers.CheckOutput(output.name());
  }
}

}  // namespace

std::string NodeName(const NodeProto& node, int index) {
  const std::string type = Shown(node.op_type());
  if (node.name().empty()) {
    return Format("node {} ({})", index, type);
  }
  return Format("node {} ({})", Shown(node.name()), type);
}

void CheckNames(const GraphProto& graph) {
  CheckGraph(graph, Makers(graph));
}

}  // namespace sluice::onnx
