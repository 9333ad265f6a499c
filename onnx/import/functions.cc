#include "sluice/onnx/import/functions.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/model_file.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;
using NewNames = Renaming::Names;

std::string_view DomainOf(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::string FunctionName(const FunctionProto& function) {
  const std::string_view domain = DomainOf(function.domain());
  return Format("function {}", Shown(domain.empty() ? function.name()
                                                    : Format("{}.{}", domain,
                                                             function.name())));
}

// The name of a node in the names of other nodes: "Add_2" without a name.
std::string PathName(const NodeProto& node, int index) {
  return node.name().empty() ? Format("{}_{}", node.op_type(), index)
                             : node.name();
}

// The metadata of a node that keeps the opset of its function.
constexpr const char* kOpsetKey = "sluice.function_opset";

constexpr const char* kBodies = "functions, in the place of their calls,";
// Also prefixes nodes of subgraphs with the name of the node that holds them.
void NameNodes(const std::string& prefix, Nodes* nodes, ImportCost* cost) {
  int index = 0;
  for (NodeProto& node : *nodes) {
    cost->Need(kBodies, prefix.size());
    node.set_name(prefix + PathName(node, index++));
    const std::string inner = node.name() + "/";
    VisitSubgraphs(&node, [&](GraphProto* graph) {
      NameNodes(inner, graph->mutable_node(), cost);
    });
  }
}

// Converts a function to a graph, for checking and renaming.
GraphProto GraphOf(const FunctionProto& function) {
  GraphProto graph;
  *graph.mutable_node() = function.node();
  for (const std::string& name : function.input()) {
    graph.add_input()->set_name(name);
  }
  for (const std::string& name : function.output()) {
    graph.add_output()->set_name(name);
  }
  return graph;
}

// Calls work(node) for each node, nodes of subgraphs before their holder.
template <typename Work>
void ForEachNode(Nodes* nodes, const Work& work) {
  for (NodeProto& node : *nodes) {
    VisitSubgraphs(&node, [&](GraphProto* graph) {
      ForEachNode(graph->mutable_node(), work);
    });
    work(node);
  }
}

// A function with the data that each call needs.
struct Callee {
  explicit Callee(const FunctionProto& function) : proto(function) {
    declared.insert(function.attribute().begin(), function.attribute().end());
    for (const AttributeProto& otherwise : function.attribute_proto()) {
      declared.insert(otherwise.name());
      defaults[otherwise.name()] = &otherwise;
    }
  }

  const FunctionProto& proto;
  std::set<std::string> declared;
  std::map<std::string, const AttributeProto*> defaults;
  bool checked = false;
  // Set by Check: of its body in memory; its opset, 0 for that of the model.
  uint64_t bytes = 0;
  int64_t opset = 0;
};

// The attributes of a call.
class Given {
 public:
  Given(const NodeProto& call, const Callee& callee, ImportCost* cost)
      : callee_(callee), cost_(*cost) {
    for (const AttributeProto& attribute : call.attribute()) {
      const std::string& name = attribute.name();
      SLUICE_ENFORCE(
          callee.declared.contains(name), ErrorCode::kInvalidArgument,
          "onnx.function_attribute", "{} has no attribute {}{}",
          FunctionName(callee.proto), Shown(name),
          SuggestNames(name, {callee.declared.begin(), callee.declared.end()}));
      values_[name] = &attribute;
    }
  }

  // Replaces references to attributes in a node of the body by their values.
  // References without a value are removed, like omitted attributes.
  void Bind(NodeProto* node) const {
    NodeProto bound;
    for (AttributeProto& attribute : *node->mutable_attribute()) {
      const std::string& wanted = attribute.ref_attr_name();
      if (wanted.empty()) {
        bound.add_attribute()->Swap(&attribute);
        continue;
      }
      const AttributeProto* value = Find(attribute.name(), wanted);
      if (value == nullptr) continue;
      cost_.Need(kBodies, BytesInMemory(*value));
      AttributeProto* added = bound.add_attribute();
      *added = *value;
      added->set_name(attribute.name());
    }
    node->mutable_attribute()->Swap(bound.mutable_attribute());
  }

 private:
  // nullptr if neither the call nor the function has a value.
  const AttributeProto* Find(const std::string& attribute,
                             const std::string& wanted) const {
    SLUICE_ENFORCE(callee_.declared.contains(wanted),
                   ErrorCode::kInvalidArgument, "onnx.function_reference",
                   "attribute {} refers to {}, which {} does not have",
                   Shown(attribute), Shown(wanted),
                   FunctionName(callee_.proto));
    const auto value = values_.find(wanted);
    if (value != values_.end()) return value->second;
    const auto otherwise = callee_.defaults.find(wanted);
    return otherwise == callee_.defaults.end() ? nullptr : otherwise->second;
  }

  const Callee& callee_;
  ImportCost& cost_;
  std::map<std::string, const AttributeProto*> values_;
};

class Inliner {
 public:
  Inliner(::onnx::ModelProto* model, ImportCost* cost)
      : model_(*model), cost_(*cost) {
    for (const FunctionProto& function : model_.functions()) {
      const bool added =
          functions_.try_emplace(KeyOf(function), function).second;
      SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "onnx.function_twice",
                     "the model has {} twice", FunctionName(function));
    }
  }

  void Run() {
    if (functions_.empty()) return;
    names_.TakeAll(model_.graph(), /*subgraphs=*/true);
    Expand(model_.mutable_graph()->mutable_node(), 0);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  static Key KeyOf(const FunctionProto& function) {
    return {std::string(DomainOf(function.domain())), function.name(),
            function.overload()};
  }

  Callee* Find(const NodeProto& node) {
    const auto found = functions_.find({std::string(DomainOf(node.domain())),
                                        node.op_type(), node.overload()});
    return found == functions_.end() ? nullptr : &found->second;
  }

  // Checks a function before its first call. Uncalled functions may be invalid.
  void Check(Callee* callee) {
    if (callee->checked) return;
    callee->checked = true;
    callee->opset = OtherOpset(callee->proto);
    const GraphProto graph = GraphOf(callee->proto);
    callee->bytes = BytesInMemory(graph);
    try {
      CheckNesting(graph);
      CheckNames(graph);
    } catch (Error& error) {
      error.AddContext("in " + FunctionName(callee->proto));
      throw;
    }
  }

  // The opset of a function, 0 if it is that of the model.
  int64_t OtherOpset(const FunctionProto& function) const {
    int64_t own = 0;
    for (const auto& opset : function.opset_import()) {
      if (DomainOf(opset.domain()).empty()) own = opset.version();
    }
    if (own == 0 || own == OpsetOf(model_)) return 0;
    SLUICE_ENFORCE(own >= kOldestOpset && own <= kNewestOpset,
                   ErrorCode::kUnimplemented, "onnx.function_opset",
                   "{} is of opset {}, Sluice reads {} to {}",
                   FunctionName(function), own, kOldestOpset, kNewestOpset);
    return own;
  }

  // `around` is the number of graphs that enclose the nodes' graph.
  void Expand(Nodes* nodes, int around) {
    Nodes expanded;
    int index = 0;
    for (NodeProto& node : *nodes) {
      VisitSubgraphs(&node, [&](GraphProto* graph) {
        Expand(graph->mutable_node(), around + 1);
      });
      Callee* callee = Find(node);
      if (callee == nullptr) {
        expanded.Add()->Swap(&node);
      } else {
        ExpandCall(node, index, around, callee, &expanded);
      }
      ++index;
    }
    nodes->Swap(&expanded);
  }

  void ExpandCall(const NodeProto& call,
                  int index,
                  int around,
                  Callee* callee,
                  Nodes* expanded) try {
    CheckCall(call, callee->proto);
    Check(callee);
    Enter(callee->proto);
    // Identities are added after expansion: the model may define Identity.
    Nodes identities;
    Nodes body = BodyFor(call, index, around, *callee, &identities);
    Expand(&body, around);
    for (Nodes* nodes : {&body, &identities}) {
      for (NodeProto& node : *nodes) {
        expanded->Add()->Swap(&node);
      }
    }
    calls_.pop_back();
  } catch (Error& error) {
    // The name of a call in a function begins with the enclosing calls.
    if (!located_) error.AddContext("in " + NodeName(call, index));
    located_ = true;
    throw;
  }

  // The nodes of the function, with the attributes and names for this call.
  Nodes BodyFor(const NodeProto& call,
                int index,
                int around,
                const Callee& callee,
                Nodes* identities) {
    const FunctionProto& function = callee.proto;
    cost_.Need(kBodies, callee.bytes);
    GraphProto body = GraphOf(function);
    const Given given(call, callee, &cost_);
    ForEachNode(body.mutable_node(), [&](NodeProto& node) {
      given.Bind(&node);
      if (callee.opset == 0) return;
      cost_.Need(kBodies, kNameBytes);
      SetOpsetOfNode(callee.opset, &node);
    });
    CheckNesting(body, around);
    const std::string prefix = PathName(call, index) + "/";
    NameNodes(prefix, body.mutable_node(), &cost_);
    NewNames inputs;
    size_t longest = prefix.size();
    for (int i = 0; i < function.input_size(); ++i) {
      std::string& given_name = inputs[function.input(i)];
      if (i < call.input_size()) given_name = call.input(i);
      longest = std::max(longest, given_name.size());
    }
    cost_.Need(kBodies, CountNames(body), longest + kNameBytes);
    NewNames outputs;
    const int handed_on =
        BindOutputs(call, function, prefix, inputs, &outputs, &body);
    renaming_.RenameBody(prefix, std::move(inputs), outputs, &body);
    for (int i = 0; i < handed_on; ++i) {
      identities->AddAllocated(body.mutable_node()->ReleaseLast());
    }
    return std::move(*body.mutable_node());
  }

  // Maps output values of the function to their names at the call. For an input
  // that is also an output, and for duplicate outputs, adds an Identity to the
  // body; returns how many.
  static int BindOutputs(const NodeProto& call,
                         const FunctionProto& function,
                         const std::string& prefix,
                         const NewNames& inputs,
                         NewNames* outputs,
                         GraphProto* body) {
    int added = 0;
    std::set<std::string_view> made;
    for (int i = 0; i < call.output_size(); ++i) {
      std::string formal = function.output(i);
      if (call.output(i).empty()) continue;
      const auto input = inputs.find(formal);
      // An omitted input has no value, so a reader of this output is an error.
      if (input != inputs.end() && input->second.empty()) continue;
      if (input != inputs.end() || outputs->contains(formal)) {
        NodeProto* identity = body->add_node();
        identity->set_op_type("Identity");
        identity->set_name(prefix + formal);
        identity->add_input(formal);
        // A name that is unused in the function.
        formal = Format("\n{}", i);
        if (made.empty()) made = NamesIn(function);
        while (made.contains(formal)) {
          formal += '\n';
        }
        identity->add_output(formal);
        ++added;
      }
      (*outputs)[formal] = call.output(i);
    }
    return added;
  }

  // The inputs of a function and the values that it computes.
  static std::set<std::string_view> NamesIn(const FunctionProto& function) {
    std::set<std::string_view> names(function.input().begin(),
                                     function.input().end());
    for (const NodeProto& node : function.node()) {
      names.insert(node.output().begin(), node.output().end());
    }
    return names;
  }

  static void CheckCall(const NodeProto& call, const FunctionProto& function) {
    SLUICE_ENFORCE(
        call.input_size() <= function.input_size() &&
            call.output_size() <= function.output_size(),
        ErrorCode::kInvalidArgument, "onnx.function_call",
        "{} has {} inputs and {} outputs, it is called with {} and {}",
        FunctionName(function), function.input_size(), function.output_size(),
        call.input_size(), call.output_size());
  }

  void Enter(const FunctionProto& function) {
    for (const FunctionProto* caller : calls_) {
      SLUICE_ENFORCE(caller != &function, ErrorCode::kInvalidArgument,
                     "onnx.function_cycle", "{} calls itself",
                     FunctionName(function));
    }
    SLUICE_ENFORCE(calls_.size() < kMostCalls, ErrorCode::kResourceExhausted,
                   "onnx.function_depth",
                   "more than {} functions call one another", kMostCalls);
    calls_.push_back(&function);
  }

  ::onnx::ModelProto& model_;
  std::map<Key, Callee> functions_;
  UniqueNames names_;
  Renaming renaming_{&names_};
  std::vector<const FunctionProto*> calls_;  // calls that enclose this one
  ImportCost& cost_;
  bool located_ = false;  // whether the error names the call
};

}  // namespace

int64_t OpsetOfNode(const NodeProto& node, int64_t otherwise) {
  int64_t opset = otherwise;
  for (const auto& property : node.metadata_props()) {
    if (property.key() != kOpsetKey) continue;
    const std::string& text = property.value();
    std::from_chars(text.data(), text.data() + text.size(), opset);
  }
  return opset;
}

void SetOpsetOfNode(int64_t opset, NodeProto* node) {
  auto* property = node->add_metadata_props();
  property->set_key(kOpsetKey);
  property->set_value(std::to_string(opset));
}

void InlineFunctions(::onnx::ModelProto* model, ImportCost* cost) {
  Inliner(model, cost).Run();
}

}  // namespace sluice::onnx
