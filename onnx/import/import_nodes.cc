#include "sluice/onnx/import/import_nodes.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/import/counterpart.h"
#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/model_file.h"
#include "sluice/onnx/import/node.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/cancel.h"

namespace sluice::onnx {

namespace {

constexpr size_t kMostListed = 100;

// Whether ONNX defines the operator; one is from its domain for training.
bool IsOnnx(const NodeProto& node) {
  if (node.op_type() == "Gradient") {
    return node.domain() == "ai.onnx.preview.training";
  }
  return node.domain().empty() || node.domain() == "ai.onnx";
}

class NodeImport {
 public:
  NodeImport(const ::onnx::ModelProto& model,
             const std::string& name,
             ValueMap* values)
      : model_(model),
        name_(name),
        opset_(OpsetOf(model)),
        values_(*values),
        import_graph_([this](const GraphProto& graph) { ImportGraph(graph); }) {
  }

  // Raises LostSubgraph if an output could not be computed.
  void ImportGraph(const GraphProto& graph) {
    int index = 0;
    for (const auto& node : graph.node()) {
      Import(node, index++);
    }
    for (const auto& output : graph.output()) {
      if (values_.IsLost(output.name())) throw LostSubgraph();
    }
  }

  void Import(const NodeProto& node, int index) {
    CheckCancelled();
    const auto lost = [&](const std::string& input) {
      return values_.IsLost(input);
    };
    if (std::any_of(node.input().begin(), node.input().end(), lost)) {
      const OpSchema* counterpart = nullptr;
      const Handler handler = FindHandlerOf(node, index, &counterpart);
      if (handler != nullptr || counterpart != nullptr) ++not_tried_;
      return Lose(node);
    }
    const OpSchema* counterpart = nullptr;
    const Handler handler = FindHandlerOf(node, index, &counterpart);
    if (handler == nullptr && counterpart == nullptr) return Lose(node);
    const std::string known_as = NameOf(node, index);
    const std::string location = Format("{} of {}", known_as, name_);
    try {
      const Inside inside(&around_, known_as);
      const bool has_output = std::any_of(
          node.output().begin(), node.output().end(),
          [](const std::string& output) { return !output.empty(); });
      SLUICE_ENFORCE(has_output, ErrorCode::kInvalidArgument,
                     "onnx.output_count", "{} has no output", known_as);
      Node imported(node, location, &values_, import_graph_);
      if (handler != nullptr) {
        handler(imported);
      } else {
        ImportCounterpart(*counterpart, imported);
      }
      imported.attributes().CheckAllAsked();
    } catch (const LostSubgraph&) {
      ++not_tried_;
      return Lose(node);
    } catch (Error& error) {
      if (error.code() == ErrorCode::kUnimplemented) {
        Refuse(node, index, FirstLine(error.what()));
        return Lose(node);
      }
      const std::string created = DescribeLocation({location, 0});
      if (std::string_view(error.what()).find(created) ==
          std::string_view::npos) {
        error.AddContext("in " + location);
      }
      throw;
    }
  }

  void RaiseRefused() const {
    if (refused_.empty()) return;
    std::string lines;
    for (size_t i = 0; i < std::min(refused_.size(), kMostListed); ++i) {
      lines += "\n  " + refused_[i];
    }
    if (refused_.size() > kMostListed) {
      lines += Format("\n  and {} more", refused_.size() - kMostListed);
    }
    if (not_tried_ > 0) {
      lines +=
          Format("\n  ({} after them not tried)",
                 not_tried_ == 1 ? "1 node" : Format("{} nodes", not_tried_));
    }
    Raise(ErrorCode::kUnimplemented, "onnx.unsupported",
          "{} of the nodes of {} (opset {}) cannot be imported:{}",
          refused_.size(), name_, opset_, lines);
  }

 private:
  // While it exists, the imported nodes belong to graphs of `node`.
  class Inside {
   public:
    Inside(std::string* around, const std::string& node)
        : around_(*around), before_(std::exchange(around_, " in " + node)) {}
    ~Inside() { around_ = std::move(before_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::string& around_;
    std::string before_;
  };

  // "node 0 (Add) in node loop (Loop)"; the index is within its own graph.
  std::string NameOf(const NodeProto& node, int index) const {
    return NodeName(node, index) + around_;
  }

  // Finds a handler, or else an equivalent op; refuses the node if there is
  // neither.
  Handler FindHandlerOf(const NodeProto& node,
                        int index,
                        const OpSchema** counterpart) {
    if (!IsOnnx(node)) {
      Refuse(node, index, IsListed() ? WhyUnknown(node) : "");
      return nullptr;
    }
    const Handler handler = FindHandler(node.op_type(), opset_);
    if (handler != nullptr) return handler;
    *counterpart = FindCounterpart(node.op_type());
    if (*counterpart != nullptr) return nullptr;
    const int64_t oldest = OldestHandled(node.op_type());
    Refuse(node, index,
           oldest == 0
               ? "there is no such operator in Sluice yet" +
                     (IsListed() ? OwnFunction(node) : "")
               : Format("the operator is known from opset {} on", oldest));
    return nullptr;
  }

  // Whether the reason of the next refusal is listed; reasons cost time.
  bool IsListed() const { return refused_.size() < kMostListed; }

  // Explains an operator that is not ONNX's: it may be a misspelt function.
  std::string WhyUnknown(const NodeProto& node) const {
    std::vector<std::string> names;
    for (const auto& function : model_.functions()) {
      if (function.domain() == node.domain()) names.push_back(function.name());
    }
    const std::string domain = Shown(node.domain());
    if (names.empty()) {
      return Format("operators of domain {} are unknown", domain);
    }
    return Format("the model has no function {} of domain {}{}",
                  Shown(node.op_type()), domain,
                  SuggestNames(node.op_type(), names));
  }

  std::string OwnFunction(const NodeProto& node) const {
    for (const auto& function : model_.functions()) {
      if (function.name() != node.op_type()) continue;
      return Format("; the model has a function of this name, of domain {}",
                    Shown(function.domain()));
    }
    return "";
  }

  void Refuse(const NodeProto& node, int index, const std::string& reason) {
    refused_.push_back(NameOf(node, index) + ": " + reason);
  }

  // Nodes that read its outputs are skipped.
  void Lose(const NodeProto& node) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) values_.AddLost(output);
    }
  }

  static std::string FirstLine(std::string_view text) {
    return std::string(text.substr(0, text.find('\n')));
  }

  const ::onnx::ModelProto& model_;
  const std::string& name_;
  int64_t opset_;
  ValueMap& values_;
  const sluice::onnx::ImportGraph import_graph_;
  std::string around_;  // " in node loop (Loop)" inside its graphs
  std::vector<std::string> refused_;
  int not_tried_ = 0;
};

}  // namespace

void ImportNodes(const ::onnx::ModelProto& model,
                 const std::string& name,
                 ValueMap* values) {
  NodeImport import(model, name, values);
  try {
    import.ImportGraph(model.graph());
  } catch (const LostSubgraph&) {
    // The node is in the list of refused nodes.
  }
  import.RaiseRefused();
}

}  // namespace sluice::onnx
