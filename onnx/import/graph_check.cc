#include "sluice/onnx/import/graph_check.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <google/protobuf/arena.h>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/import/functions.h"
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

  // Checks that something makes the value, which node `user` reads.
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

namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;
using Values = std::set<std::string_view>;

// Adds the values that a node reads, also in its subgraphs, unless they are
// made there.
void AddReads(const NodeProto& node, Values* reads) {
  reads->insert(node.input().begin(), node.input().end());
  VisitSubgraphs(node, [reads](const GraphProto& graph) {
    Values inner, made;
    for (const NodeProto& other : graph.node()) {
      AddReads(other, &inner);
      made.insert(other.output().begin(), other.output().end());
    }
    for (const auto& output : graph.output()) {
      inner.insert(output.name());
    }
    for (const auto& input : graph.input()) {
      made.insert(input.name());
    }
    for (const auto& tensor : graph.initializer()) {
      made.insert(tensor.name());
    }
    for (const std::string_view name : made) {
      inner.erase(name);
    }
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
        if (maker == makers.end()) continue;
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
         node != path.end() && ++count <= kMostNamed; ++node) {
      names += (names.empty() ? "" : ", ") + NodeName(nodes_[*node], *node);
    }
    Raise(ErrorCode::kInvalidArgument, "onnx.cycle",
          "nodes form a cycle, each reads what the next one makes: {}{}", names,
          count > kMostNamed ? ", ..." : "");
  }

  const Nodes& nodes_;
  std::vector<std::vector<int>> waits_for_;
  std::vector<State> states_;
  std::vector<int> order_;
};

void Sort(Nodes* nodes) {
  for (NodeProto& node : *nodes) {
    VisitSubgraphs(&node, [](auto* graph) { Sort(graph->mutable_node()); });
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

namespace {

void Replace(const Renaming::Names& names, std::string* name) {
  const auto found = names.find(*name);
  if (found != names.end()) *name = found->second;
}

}  // namespace

uint64_t BytesInMemory(const google::protobuf::MessageLite& message) {
  google::protobuf::Arena arena;
  message.New(&arena)->CheckTypeAndMergeFrom(message);
  return arena.SpaceUsed() + message.ByteSizeLong();
}

size_t CountNames(const GraphProto& graph) {
  size_t count =
      graph.input().size() + graph.output().size() + graph.initializer().size();
  for (const NodeProto& node : graph.node()) {
    count += node.input().size() + node.output().size();
    VisitSubgraphs(
        node, [&](const GraphProto& inner) { count += CountNames(inner); });
  }
  return count;
}

void UniqueNames::TakeAll(const GraphProto& graph, bool subgraphs) {
  for (const auto& input : graph.input()) {
    taken_.insert(input.name());
  }
  for (const auto& tensor : graph.initializer()) {
    taken_.insert(tensor.name());
  }
  for (const auto& node : graph.node()) {
    taken_.insert(node.output().begin(), node.output().end());
    if (!subgraphs) continue;
    VisitSubgraphs(node,
                   [this](const GraphProto& inner) { TakeAll(inner, true); });
  }
}

std::string UniqueNames::New(const std::string& base) {
  std::string name = base;
  if (taken_.insert(name).second) return name;
  int& number = numbers_[base];
  do {
    name = Format("{}_{}", base, ++number);
  } while (!taken_.insert(name).second);
  return name;
}

void Renaming::RenameSubgraphs(GraphProto* graph) {
  prefix_.clear();
  names_.clear();
  RenameNodes(graph, true, {});
}

void Renaming::RenameBody(const std::string& prefix,
                          Names inputs,
                          const Names& outputs,
                          GraphProto* graph) {
  prefix_ = prefix;
  names_ = std::move(inputs);
  RenameNodes(graph, false, outputs);
  changed_.clear();
}

// `given` maps some values of this graph to their new names.
void Renaming::RenameNodes(GraphProto* graph,
                           bool outermost,
                           const Names& given) {
  for (auto& node : *graph->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      Replace(names_, &input);
    }
    VisitSubgraphs(&node, [this](auto* inner) { RenameGraph(inner); });
    if (outermost) continue;
    for (std::string& output : *node.mutable_output()) {
      const auto wanted = given.find(output);
      if (wanted == given.end()) {
        Define(&output);
      } else {
        Call(output, wanted->second);
        output = wanted->second;
      }
    }
  }
  for (auto* values : {graph->mutable_output(), graph->mutable_value_info()}) {
    for (auto& value : *values) {
      Replace(names_, value.mutable_name());
    }
  }
}

// Names defined in the graph are valid only inside it.
void Renaming::RenameGraph(GraphProto* graph) {
  const size_t before = changed_.size();
  std::set<std::string> inputs;
  for (auto& input : *graph->mutable_input()) {
    inputs.insert(input.name());
    Define(input.mutable_name());
  }
  for (auto& tensor : *graph->mutable_initializer()) {
    if (inputs.contains(tensor.name())) {
      Replace(names_, tensor.mutable_name());
    } else {
      Define(tensor.mutable_name());
    }
  }
  RenameNodes(graph, false, {});
  while (changed_.size() > before) {
    auto& [name, called] = changed_.back();
    if (called) {
      names_[name] = std::move(*called);
    } else {
      names_.erase(name);
    }
    changed_.pop_back();
  }
}

void Renaming::Call(const std::string& name, const std::string& called) {
  const auto [known, added] = names_.try_emplace(name, called);
  changed_.emplace_back(name, std::nullopt);
  if (added) return;
  changed_.back().second = std::move(known->second);
  known->second = called;
}

void Renaming::Define(std::string* name) {
  if (name->empty()) return;
  std::string unique = unique_.New(prefix_ + *name);
  Call(*name, unique);
  *name = std::move(unique);
}

void VisitSubgraphs(const NodeProto& node,
                    const std::function<void(const GraphProto&)>& visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& inner : attribute.graphs()) {
      visit(inner);
    }
  }
}

void VisitSubgraphs(NodeProto* node,
                    const std::function<void(GraphProto*)>& visit) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_g()) visit(attribute.mutable_g());
    for (auto& inner : *attribute.mutable_graphs()) {
      visit(&inner);
    }
  }
}

namespace {

// An initialiser that is also an input is kept once, sparse or dense.
void SettleInputs(bool outermost, GraphProto* graph) {
  std::set<std::string_view> sparse;
  for (const auto& tensor : graph->sparse_initializer()) {
    sparse.insert(tensor.values().name());
  }
  if (sparse.empty()) return;
  auto* inputs = graph->mutable_input();
  if (outermost) {
    inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                 [&](const auto& input) {
                                   return sparse.contains(input.name());
                                 }),
                  inputs->end());
    return;
  }
  std::set<std::string_view> given;
  for (const auto& input : *inputs) {
    given.insert(input.name());
  }
  auto* tensors = graph->mutable_sparse_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const auto& tensor) {
                                  return given.contains(tensor.values().name());
                                }),
                 tensors->end());
}

void ReplaceSparse(bool outermost, GraphProto* graph) {
  SettleInputs(outermost, graph);
  auto* nodes = graph->mutable_node();
  for (auto& node : *nodes) {
    VisitSubgraphs(&node, [](auto* inner) { ReplaceSparse(false, inner); });
  }
  for (auto& sparse : *graph->mutable_sparse_initializer()) {
    const std::string& name = sparse.values().name();
    SLUICE_ENFORCE(!name.empty(), ErrorCode::kInvalidArgument,
                   "onnx.sparse_initialiser",
                   "a sparse initialiser of the graph has no name");
    NodeProto* node = nodes->Add();
    node->set_op_type("Constant");
    node->set_name(name);
    node->add_output(name);
    auto* value = node->add_attribute();
    value->set_name("sparse_value");
    value->set_type(AttributeProto::SPARSE_TENSOR);
    value->mutable_sparse_tensor()->Swap(&sparse);
  }
  std::rotate(nodes->pointer_begin(),
              nodes->pointer_end() - graph->sparse_initializer_size(),
              nodes->pointer_end());
  graph->clear_sparse_initializer();
}

}  // namespace

void MakeSparseInitialisersNodes(::onnx::ModelProto* model) {
  ReplaceSparse(true, model->mutable_graph());
  for (auto& function : *model->mutable_functions()) {
    for (auto& node : *function.mutable_node()) {
      VisitSubgraphs(&node, [](auto* inner) { ReplaceSparse(false, inner); });
    }
  }
}

// The graph of such a Scan reads no values of other graphs, so that any names
// may be used around it.
void NestOldScans(GraphProto* graph) {
  for (NodeProto& node : *graph->mutable_node()) {
    VisitSubgraphs(&node, NestOldScans);
    if (node.op_type() != "Scan" || node.input_size() == 0 ||
        !node.input(0).empty()) {
      continue;
    }
    NodeProto outer;
    outer.set_name(node.name());
    outer.set_op_type(node.op_type());
    AttributeProto* body = outer.add_attribute();
    body->set_name("body");
    body->set_type(AttributeProto::GRAPH);
    GraphProto& part = *body->mutable_g();
    for (int i = 1; i < node.input_size(); ++i) {
      outer.add_input(node.input(i));
      part.add_input()->set_name(Format("scan.{}", i));
    }
    outer.mutable_output()->Swap(node.mutable_output());
    node.clear_input();
    for (const auto& input : part.input()) {
      node.add_input(input.name());
    }
    for (int i = 0; i < outer.output_size(); ++i) {
      node.add_output(Format("scan.out.{}", i));
      part.add_output()->set_name(node.output(i));
    }
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "directions") {
        attribute.set_name("scan_input_directions");
      }
    }
    AttributeProto* count = outer.add_attribute();
    count->set_name("num_scan_inputs");
    count->set_type(AttributeProto::INT);
    count->set_i(outer.input_size());
    SetOpsetOfNode(9, &outer);
    SetOpsetOfNode(9, &node);
    part.add_node()->Swap(&node);
    node.Swap(&outer);
  }
}

void MakeNamesUnique(GraphProto* graph) {
  UniqueNames names;
  names.TakeAll(*graph, false);
  Renaming(&names).RenameSubgraphs(graph);
}

}  // namespace sluice::onnx
