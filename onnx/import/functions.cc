#include "sluice/onnx/import/functions.h"

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/model_file.h"
#include "sluice/onnx/import/subgraphs.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using platform::ErrorCode;
using platform::Format;
using platform::Shown;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;
using Names = Renaming::Names;

constexpr int64_t kMostNodes = int64_t{1} << 18;
constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();
constexpr size_t kMostCalls = 64;  // one in another

std::string_view DomainOf(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::string FunctionName(const FunctionProto& function) {
  const std::string_view domain = DomainOf(function.domain());
  return Format("function {}", Shown(domain.empty() ? function.name()
                                                    : Format("{}.{}", domain,
                                                             function.name())));
}

// What a node is called in the names of others: "Add_2" for one without a name.
std::string PathName(const NodeProto& node, int index) {
  return node.name().empty() ? Format("{}_{}", node.op_type(), index)
                             : node.name();
}

// Nodes of subgraphs are named after the node that holds them, too.
void NameNodes(const std::string& prefix, Nodes* nodes) {
  int index = 0;
  for (NodeProto& node : *nodes) {
    node.set_name(prefix + PathName(node, index++));
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        NameNodes(node.name() + "/", attribute.mutable_g()->mutable_node());
      }
      for (GraphProto& graph : *attribute.mutable_graphs()) {
        NameNodes(node.name() + "/", graph.mutable_node());
      }
    }
  }
}

// The graph of a function: what its names are checked and renamed as.
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

// Calls work(node) for each node, those of subgraphs before the one that holds
// them.
template <typename Work>
void ForEachNode(Nodes* nodes, const Work& work) {
  for (NodeProto& node : *nodes) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        ForEachNode(attribute.mutable_g()->mutable_node(), work);
      }
      for (GraphProto& graph : *attribute.mutable_graphs()) {
        ForEachNode(graph.mutable_node(), work);
      }
    }
    work(node);
  }
}

// The attributes of a call, and the defaults of the function.
class Given {
 public:
  Given(const NodeProto& call, const FunctionProto& function)
      : function_(function) {
    for (const std::string& name : function.attribute()) {
      declared_.insert(name);
    }
    for (const AttributeProto& otherwise : function.attribute_proto()) {
      declared_.insert(otherwise.name());
      values_[otherwise.name()] = &otherwise;
    }
    for (const AttributeProto& attribute : call.attribute()) {
      const std::string& name = attribute.name();
      SLUICE_ENFORCE(
          declared_.contains(name), ErrorCode::kInvalidArgument,
          "onnx.function_attribute", "{} has no attribute {}{}",
          FunctionName(function), Shown(name),
          framework::SuggestNames(name, {declared_.begin(), declared_.end()}));
      values_[name] = &attribute;
    }
  }

  // References of a node in the body become what they refer to; those without a
  // value are left out, as in a call that leaves them out.
  void Bind(NodeProto* node) const {
    NodeProto bound;
    for (AttributeProto& attribute : *node->mutable_attribute()) {
      const std::string& wanted = attribute.ref_attr_name();
      if (wanted.empty()) {
        bound.add_attribute()->Swap(&attribute);
        continue;
      }
      SLUICE_ENFORCE(declared_.contains(wanted), ErrorCode::kInvalidArgument,
                     "onnx.function_reference",
                     "attribute {} refers to {}, which {} does not have",
                     Shown(attribute.name()), Shown(wanted),
                     FunctionName(function_));
      const auto value = values_.find(wanted);
      if (value == values_.end()) continue;
      AttributeProto* added = bound.add_attribute();
      *added = *value->second;
      added->set_name(attribute.name());
    }
    node->mutable_attribute()->Swap(bound.mutable_attribute());
  }

 private:
  const FunctionProto& function_;
  std::set<std::string> declared_;
  std::map<std::string, const AttributeProto*> values_;
};

class Inliner {
 public:
  explicit Inliner(::onnx::ModelProto* model) : model_(*model) {
    for (const FunctionProto& function : model_.functions()) {
      const bool added = functions_.emplace(KeyOf(function), &function).second;
      SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "onnx.function_twice",
                     "the model has {} twice", FunctionName(function));
    }
  }

  void Run() {
    if (functions_.empty()) return;
    for (const auto& [key, function] : functions_) {
      CheckOpset(*function);
      try {
        CheckNames(GraphOf(*function));
      } catch (platform::Error& error) {
        error.AddContext("in " + FunctionName(*function));
        throw;
      }
    }
    renaming_.TakeAll(model_.graph(), /*subgraphs=*/true);
    Expand(model_.mutable_graph()->mutable_node());
    CheckNesting(model_.graph());
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  static Key KeyOf(const FunctionProto& function) {
    return {std::string(DomainOf(function.domain())), function.name(),
            function.overload()};
  }

  const FunctionProto* Find(const NodeProto& node) const {
    const auto found = functions_.find({std::string(DomainOf(node.domain())),
                                        node.op_type(), node.overload()});
    return found == functions_.end() ? nullptr : found->second;
  }

  // Nodes are imported as those of the model's opset.
  void CheckOpset(const FunctionProto& function) {
    const int64_t theirs = OpsetOf(model_);
    int64_t own = theirs;
    for (const auto& opset : function.opset_import()) {
      if (DomainOf(opset.domain()).empty()) own = opset.version();
    }
    if (own == theirs) return;
    Nodes nodes = function.node();
    ForEachNode(&nodes, [&](const NodeProto& node) {
      const bool same = !DomainOf(node.domain()).empty() ||
                        Find(node) != nullptr ||
                        FindHandler(node.op_type(), own) ==
                            FindHandler(node.op_type(), theirs);
      SLUICE_ENFORCE(same, ErrorCode::kUnimplemented, "onnx.function_opset",
                     "{} is of opset {}, the model of opset {}, and {} is not "
                     "the same in both",
                     FunctionName(function), own, theirs,
                     Shown(node.op_type()));
    });
  }

  void Expand(Nodes* nodes) {
    Nodes expanded;
    int index = 0;
    for (NodeProto& node : *nodes) {
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) Expand(attribute.mutable_g()->mutable_node());
        for (GraphProto& graph : *attribute.mutable_graphs()) {
          Expand(graph.mutable_node());
        }
      }
      const FunctionProto* function = Find(node);
      if (function == nullptr) {
        expanded.Add()->Swap(&node);
      } else {
        ExpandCall(node, index, *function, &expanded);
      }
      ++index;
    }
    nodes->Swap(&expanded);
  }

  void ExpandCall(const NodeProto& call,
                  int index,
                  const FunctionProto& function,
                  Nodes* expanded) try {
    CheckCall(call, function);
    Enter(function);
    const std::string prefix = PathName(call, index) + "/";
    GraphProto body = GraphOf(function);
    const Given given(call, function);
    ForEachNode(body.mutable_node(),
                [&](NodeProto& node) { given.Bind(&node); });
    NameNodes(prefix, body.mutable_node());
    Names inputs;
    for (int i = 0; i < function.input_size(); ++i) {
      inputs[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    Names outputs;
    for (int i = 0; i < call.output_size(); ++i) {
      std::string formal = function.output(i);
      if (call.output(i).empty()) continue;
      const auto input = inputs.find(formal);
      // An input that was left out: nothing makes it, if somebody reads it.
      if (input != inputs.end() && input->second.empty()) continue;
      // An input that is an output, and an output that stands twice.
      if (input != inputs.end() || outputs.contains(formal)) {
        NodeProto* identity = body.add_node();
        identity->set_op_type("Identity");
        identity->set_name(prefix + formal);
        identity->add_input(formal);
        formal = Format("\n{}", i);  // no name of the function
        identity->add_output(formal);
      }
      outputs[formal] = call.output(i);
    }
    renaming_.RenameBody(prefix, std::move(inputs), outputs, &body);
    Expand(body.mutable_node());
    for (NodeProto& node : *body.mutable_node()) {
      expanded->Add()->Swap(&node);
    }
    calls_.pop_back();
  } catch (platform::Error& error) {
    // The name of a call in a function begins with those around it.
    if (!located_) error.AddContext("in " + NodeName(call, index));
    located_ = true;
    throw;
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
    nodes_ += function.node_size();
    bytes_ += function.ByteSizeLong();
    SLUICE_ENFORCE(nodes_ <= kMostNodes && bytes_ <= kMostBytes,
                   ErrorCode::kResourceExhausted, "onnx.function_size",
                   "with its functions in the place of their calls the model "
                   "has more than {} nodes or {} bytes",
                   kMostNodes, kMostBytes);
  }

  ::onnx::ModelProto& model_;
  std::map<Key, const FunctionProto*> functions_;
  Renaming renaming_;
  std::vector<const FunctionProto*> calls_;  // from the graph to this one
  int64_t nodes_ = 0;
  size_t bytes_ = 0;
  bool located_ = false;  // an error names the call
};

}  // namespace

void InlineFunctions(::onnx::ModelProto* model) {
  Inliner(model).Run();
}

}  // namespace sluice::onnx
