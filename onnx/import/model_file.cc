#include "sluice/onnx/import/model_file.h"

#include <algorithm>
#include <limits>

#include <google/protobuf/io/coded_stream.h>

#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/limits.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();

using google::protobuf::io::CodedInputStream;

// Returns whether the fields of the outermost message end beyond the bytes, so
// that the file was truncated.
bool IsCutOff(std::string_view bytes) {
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    uint64_t value = 0;
    switch (tag & 7) {
      case 0:
        if (!stream.ReadVarint64(&value)) return true;
        break;
      case 1:
        if (!stream.Skip(8)) return true;
        break;
      case 2: {
        if (!stream.ReadVarint64(&value)) return true;
        const int left =
            static_cast<int>(bytes.size()) - stream.CurrentPosition();
        if (value > static_cast<uint64_t>(left)) return true;
        stream.Skip(static_cast<int>(value));
        break;
      }
      case 5:
        if (!stream.Skip(4)) return true;
        break;
      default:
        return false;  // not a message
    }
  }
  return false;
}

bool Parse(std::string_view bytes, ::onnx::ModelProto* model) {
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMostMessages);
  return model->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

// The depth of nested graphs.
int Depth(const GraphProto& graph) {
  int deepest = 0;
  for (const auto& node : graph.node()) {
    VisitSubgraphs(node, [&](const GraphProto& inner) {
      deepest = std::max(deepest, Depth(inner));
    });
  }
  return deepest + 1;
}

void CheckVersions(const ::onnx::ModelProto& model) {
  SLUICE_ENFORCE(
      model.ir_version() >= 3, ErrorCode::kInvalidArgument, "onnx.ir_version",
      "the model has IR version {}; expected 3 or newer", model.ir_version());
  SLUICE_ENFORCE(model.ir_version() <= ::onnx::IR_VERSION,
                 ErrorCode::kUnimplemented, "onnx.ir_version_new",
                 "the model has IR version {}, this build of Sluice knows them "
                 "up to {}",
                 model.ir_version(), static_cast<int>(::onnx::IR_VERSION));
  const int64_t opset = OpsetOf(model);
  SLUICE_ENFORCE(opset != 0, ErrorCode::kInvalidArgument, "onnx.no_opset",
                 "the model does not say which opset its operators are of "
                 "(opset_import)");
  SLUICE_ENFORCE(opset >= kOldestOpset, ErrorCode::kUnimplemented,
                 "onnx.opset_old",
                 "the model is of opset {}, Sluice reads {} to {}", opset,
                 kOldestOpset, kNewestOpset);
  SLUICE_ENFORCE(opset <= kNewestOpset, ErrorCode::kUnimplemented,
                 "onnx.opset_new",
                 "the model is of opset {}, Sluice reads {} to {}", opset,
                 kOldestOpset, kNewestOpset);
}

}  // namespace

void CheckFileSize(uint64_t bytes, const std::string& name) {
  SLUICE_ENFORCE(bytes <= kMostBytes, ErrorCode::kResourceExhausted,
                 "onnx.too_large",
                 "{} has {} bytes; an ONNX file has less than 2 GiB: save the "
                 "model with external data",
                 name, bytes);
}

void ParseModel(std::string_view bytes,
                const std::string& name,
                ::onnx::ModelProto* model) {
  CheckFileSize(bytes.size(), name);
  SLUICE_ENFORCE(!IsCutOff(bytes), ErrorCode::kDataLoss, "onnx.truncated",
                 "{} ends in the middle of a field after {} bytes: it was cut "
                 "off, or is no ONNX model",
                 name, bytes.size());
  SLUICE_ENFORCE(Parse(bytes, model), ErrorCode::kDataLoss, "onnx.not_a_model",
                 "{} cannot be read: its {} bytes are damaged, of another "
                 "format, or nested more than {} messages deep",
                 name, bytes.size(), kMostMessages);
  SLUICE_ENFORCE(model->has_graph(), ErrorCode::kInvalidArgument,
                 "onnx.no_graph", "{} has no graph", name);
  CheckVersions(*model);
  CheckNesting(model->graph());
}

void CheckNesting(const GraphProto& graph, int around) {
  const int depth = around + Depth(graph);
  SLUICE_ENFORCE(
      depth <= kMostGraphs, ErrorCode::kInvalidArgument, "onnx.nesting",
      "{} graphs lie in one another; expected at most {}", depth, kMostGraphs);
}

int64_t OpsetOf(const ::onnx::ModelProto& model) {
  const auto last = std::find_if(
      model.opset_import().rbegin(), model.opset_import().rend(),
      [](const auto& opset) {
        return opset.domain().empty() || opset.domain() == "ai.onnx";
      });
  if (last != model.opset_import().rend()) return last->version();
  // If all nodes are in functions, the functions specify the opset.
  int64_t newest = 0;
  for (const auto& function : model.functions()) {
    for (const auto& opset : function.opset_import()) {
      if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
      newest = std::max<int64_t>(newest, opset.version());
    }
  }
  if (newest > 0) return newest;
  // A model of classical machine learning, or an optimizer, may need no other
  // domain.
  const bool is_special = std::any_of(
      model.opset_import().begin(), model.opset_import().end(),
      [](const auto& opset) { return opset.domain().starts_with("ai.onnx."); });
  return is_special ? kNewestOpset : 0;
}

}  // namespace sluice::onnx
