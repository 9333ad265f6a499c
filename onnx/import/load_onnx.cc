#include "sluice/onnx/load_onnx.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/files/file.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/onnx/import/element_source.h"
#include "sluice/onnx/import/functions.h"
#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/model_file.h"
#include "sluice/onnx/import/ranks.h"
#include "sluice/onnx/import/sequences.h"
#include "sluice/onnx/import/value_map.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/cancel.h"

namespace sluice::onnx {

namespace {

constexpr ptrdiff_t kMostListed = 100;
constexpr const char* kRefusedId = "onnx.unsupported";

// Whether the operator is of ONNX's own domain.
bool IsOnnx(const NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

class NodeImport {
 public:
  NodeImport(const ::onnx::ModelProto& model,
             const std::string& name,
             Names refused_inputs,
             ValueMap* values)
      : model_(model),
        name_(name),
        refused_inputs_(std::move(refused_inputs)),
        opset_(OpsetOf(model)),
        values_(*values),
        import_graph_([this](const GraphProto& graph) { ImportGraph(graph); }) {
  }

  // Raises LostSubgraph if an output could not be computed.
  void ImportGraph(const GraphProto& graph) {
    for (const auto& value : graph.value_info()) {
      types_.emplace(value.name(), &value);
      StateRank(value);
    }
    for (const auto& output : graph.output()) {
      StateRank(output);
    }
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
    const OpSchema* counterpart = nullptr;
    const Handler handler = FindHandlerOf(node, index, &counterpart);
    if (handler == nullptr && counterpart == nullptr) return Lose(node);
    if (std::any_of(node.input().begin(), node.input().end(), lost)) {
      ++not_tried_;
      return Lose(node);
    }
    const std::string known_as = NameOf(node, index);
    const std::string location = Format("{} of {}", known_as, name_);
    try {
      const Inside inside(&around_, known_as);
      const bool has_output = std::any_of(
          node.output().begin(), node.output().end(),
          [](const std::string& output) { return !output.empty(); });
      SLUICE_ENFORCE(has_output, ErrorCode::kInvalidArgument,
                     "onnx.output_count", "{} has no output", known_as);
      const auto attempt = [&](const NodeProto& proto) {
        Node imported(proto, location, &values_, import_graph_);
        if (handler != nullptr) {
          handler(imported);
        } else {
          ImportCounterpart(*counterpart, imported);
        }
        // Up to opset 5: which inputs may be overwritten.
        if (opset_ < 6) imported.attributes().Ignore("consumed_inputs");
        imported.attributes().CheckAllAsked();
      };
      const bool moves_texts = MovesTexts(node);
      ImportOrNarrow(node, location, attempt);
      if (moves_texts) MarkTexts(node);
    } catch (const LostSubgraph&) {
      ++not_tried_;
      return Lose(node);
    } catch (Error& error) {
      if (error.code() == ErrorCode::kUnimplemented) {
        Refuse(node, index, FirstLine(error.what()),
               error.check_id() == Node::kLateId);
        return Lose(node);
      }
      if (!refused_.empty() || !refused_inputs_.empty()) {
        // It may read a stand-in.
        ++not_tried_;
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
    if (refused_.empty() && refused_inputs_.empty()) return;
    std::string lines;
    int nodes = 0, unlisted = 0;
    for (const std::string& reason : refused_inputs_) {
      lines += "\n  " + reason;
    }
    for (const Refusal& refusal : refused_) {
      nodes += refusal.count;
      if (&refusal - refused_.data() >= kMostListed) {
        unlisted += refusal.count;
        continue;
      }
      lines += "\n  " + refusal.node + ": " + refusal.reason;
      if (refusal.count > 1) {
        lines += Format(" (and {} more)", refusal.count - 1);
      }
    }
    if (unlisted > 0) lines += Format("\n  and {} more", unlisted);
    if (not_tried_ > 0) {
      lines +=
          Format("\n  ({} after them not tried)",
                 not_tried_ == 1 ? "1 node" : Format("{} nodes", not_tried_));
    }
    const std::string inputs =
        Format("{} of the inputs", refused_inputs_.size());
    const std::string what =
        refused_inputs_.empty() ? Format("{} of the nodes", nodes)
        : nodes == 0            ? inputs
                     : Format("{} and {} of the nodes", inputs, nodes);
    const bool late = only_late_ && refused_inputs_.empty();
    Raise(ErrorCode::kUnimplemented, late ? Node::kLateId : kRefusedId,
          "{} of {} (opset {}) cannot be imported:{}", what, name_, opset_,
          lines);
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

  void StateRank(const ::onnx::ValueInfoProto& value) {
    values_.StateRank(value.name(),
                      value.type().tensor_type().shape().dim_size());
  }

  // Calls attempt(node), and, where a form is refused, again with what the
  // model states of inputs.
  template <typename Attempt>
  void ImportOrNarrow(const NodeProto& node,
                      const std::string& location,
                      const Attempt& attempt) {
    try {
      return attempt(node);
    } catch (const Error& error) {
      const bool begun = std::any_of(node.output().begin(), node.output().end(),
                                     [this](const std::string& output) {
                                       return values_.program().HasVar(output);
                                     });
      if (error.code() != ErrorCode::kUnimplemented || begun) throw;
      const auto ranked = WithStatedRanks(node, location, &values_);
      if (!ranked) throw;
      attempt(*ranked);
    }
  }

  // Whether the outputs of a node are texts, because its inputs are. Raises
  // Unimplemented if it cannot take them.
  bool MovesTexts(const NodeProto& node) const {
    if (std::none_of(node.input().begin(), node.input().end(),
                     [this](const std::string& input) {
                       return values_.IsOfTexts(input);
                     })) {
      return false;
    }
    const TextUse use = TextUseOf(
        IsOnnx(node) ? node.op_type() : node.domain() + "." + node.op_type());
    SLUICE_ENFORCE(use != TextUse::kRefuses, ErrorCode::kUnimplemented,
                   "onnx.texts",
                   "it reads strings, which Sluice moves, compares and looks "
                   "up, and nothing else");
    return use == TextUse::kMoves;
  }

  void MarkTexts(const NodeProto& node) {
    for (const std::string& output : node.output()) {
      values_.MarkTexts(output);
    }
  }

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
      const Handler other =
          FindHandler(node.domain() + "." + node.op_type(), 1);
      if (other == nullptr) {
        Refuse(node, index, IsListed() ? WhyUnknown(node) : "");
      }
      return other;
    }
    const Handler handler =
        FindHandler(node.op_type(), OpsetOfNode(node, opset_));
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
  bool IsListed() const { return std::ssize(refused_) < kMostListed; }

  // Explains an operator that is not ONNX's: it may be a misspelt function.
  std::string WhyUnknown(const NodeProto& node) const {
    Names names;
    for (const auto& function : model_.functions()) {
      if (function.domain() == node.domain()) names.push_back(function.name());
    }
    const std::string domain = Shown(node.domain());
    if (node.domain() == "com.microsoft") {
      return "Sluice lacks this operator of onnxruntime; the model as it was "
             "before onnxruntime optimized it may have none";
    }
    if (node.domain() == "com.microsoft.nchwc") {
      return "onnxruntime wrote it for one machine (ORT_ENABLE_ALL); save the "
             "model with ORT_ENABLE_EXTENDED";
    }
    if (node.domain() == "ai.onnx.ml") {
      return "there is no such operator in Sluice yet";
    }
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

  // Nodes of one type that are refused for the same reason are listed together.
  void Refuse(const NodeProto& node,
              int index,
              const std::string& reason,
              bool late = false) {
    only_late_ = only_late_ && late;
    const auto [same, added] = refusals_.try_emplace(
        node.domain() + "." + node.op_type() + ": " + reason, refused_.size());
    if (added) refused_.push_back({NameOf(node, index), reason, 0});
    ++refused_[same->second].count;
  }

  // Nodes that read its outputs are tried if the model says of which type these
  // are, else skipped.
  void Lose(const NodeProto& node) {
    for (const std::string& output : node.output()) {
      const auto stated = types_.find(output);
      if (output.empty()) continue;
      if (stated == types_.end() || values_.program().HasVar(output) ||
          !stated->second->type().tensor_type().has_shape()) {
        values_.AddLost(output);
        continue;
      }
      try {
        const ValueType type = TypeOfInput(*stated->second, {});
        values_.program().Data(output, type.dtype, type.dims);
      } catch (const Error&) {
        values_.AddLost(output);
      }
    }
  }

  static std::string FirstLine(std::string_view text) {
    return std::string(text.substr(0, text.find('\n')));
  }

  const ::onnx::ModelProto& model_;
  const std::string& name_;
  const Names refused_inputs_;
  int64_t opset_;
  ValueMap& values_;
  const sluice::onnx::ImportGraph import_graph_;
  std::string around_;  // " in node loop (Loop)" inside its graphs
  struct Refusal {
    std::string node;  // the first one
    std::string reason;
    int count;
  };
  std::vector<Refusal> refused_;
  std::map<std::string, size_t> refusals_;  // by type and reason
  std::map<std::string, const ::onnx::ValueInfoProto*> types_;  // as stated
  int not_tried_ = 0;
  bool only_late_ = true;  // whether values of inputs would help all refused
};

// Adds the ops of all nodes, in order.
void ImportNodes(const ::onnx::ModelProto& model,
                 const std::string& name,
                 Names refused_inputs,
                 ValueMap* values) {
  NodeImport import(model, name, std::move(refused_inputs), values);
  try {
    import.ImportGraph(model.graph());
  } catch (const LostSubgraph&) {
    // The node is in the list of refused nodes.
  }
  import.RaiseRefused();
}

OnnxMetadata MetadataOf(const ::onnx::ModelProto& model) {
  OnnxMetadata metadata;
  metadata.ir_version = model.ir_version();
  metadata.model_version = model.model_version();
  metadata.producer_name = model.producer_name();
  metadata.producer_version = model.producer_version();
  metadata.domain = model.domain();
  metadata.description = model.doc_string();
  metadata.graph_name = model.graph().name();
  metadata.graph_description = model.graph().doc_string();
  for (const auto& opset : model.opset_import()) {
    metadata.opsets.emplace_back(opset.domain(), opset.version());
  }
  for (const auto& property : model.metadata_props()) {
    metadata.properties.emplace_back(property.key(), property.value());
  }
  return metadata;
}

OnnxModel Import(ElementSource source,
                 const std::string& name,
                 const OnnxOptions& options) {
  ::onnx::ModelProto model;
  CheckFileSize(source.size(), name);  // before reading the file
  ParseModel(source.ReadModel(), name, &model);
  MakeSparseInitialisersNodes(&model);
  if (OpsetOf(model) == 8) NestOldScans(model.mutable_graph());
  ImportCost cost(options.limits, source.size());
  LeaveOut(options.absent_inputs, model.mutable_graph());
  TakeSequencesApart(options.sequence_lengths, &cost, model.mutable_graph());
  SortNodes(&model);
  CheckNames(model.graph());
  InlineFunctions(&model, &cost);
  if (model.functions_size() > 0) CheckNames(model.graph());
  MakeNamesUnique(model.mutable_graph());
  ValueMap values(model.graph(), &cost);
  OnnxModel result;
  result.metadata = MetadataOf(model);
  result.replaced =
      AddInitialisers(source, options, model.mutable_graph(), &values);
  for (const auto& input : model.graph().input()) {
    if (values.FindConstant(input.name()) != nullptr) {
      result.initialised_inputs.push_back(input.name());
    }
  }
  Names refused_inputs;
  result.inputs = AddInputs(model.graph(), name, &values, &refused_inputs);
  result.texts_input = values.AddTextsInput();
  ImportNodes(model, name, std::move(refused_inputs), &values);
  result.outputs = FindOutputs(model.graph(), &values);
  result.program = values.TakeProgram();
  result.parameters = values.TakeParameters();
  result.texts = values.texts().Take();
  return result;
}

OnnxModel ImportNamed(ElementSource source,
                      const std::string& name,
                      const OnnxOptions& options) try {
  return Import(std::move(source), name, options);
} catch (Error& error) {
  if (std::string_view(error.what()).find(name) == std::string_view::npos) {
    error.AddContext(Format("in {}", name));
  }
  throw;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace

void OnnxModel::PutParameters(Scope& scope) const try {
  std::vector<Tensor*> to;
  const ScopeLock lock(&scope, ScopeAccess::kWrite);
  to.reserve(parameters.size());
  for (const auto& [name, value] : parameters) {
    to.push_back(scope.Var(name).GetMutable<Tensor>());
  }
  for (size_t i = 0; i < to.size(); ++i) {
    *to[i] = parameters[i].second;
  }
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

OnnxModel LoadOnnx(const std::string& path, const OnnxOptions& options) {
  const std::filesystem::path file = path;
  const std::string own =
      file.has_parent_path() ? file.parent_path().string() : ".";
  const std::string& folder = options.folder.empty() ? own : options.folder;
  InputFile input(path);
  return ImportNamed(
      ElementSource(&input, folder),
      options.name.empty() ? file.filename().string() : options.name, options);
}

OnnxModel ParseOnnx(std::string_view bytes, const OnnxOptions& options) {
  return ImportNamed(ElementSource(bytes, options.folder),
                     options.name.empty() ? "the ONNX model" : options.name,
                     options);
}

}  // namespace sluice::onnx
