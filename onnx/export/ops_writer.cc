#include "sluice/onnx/export/ops_writer.h"

#include <algorithm>

#include "sluice/onnx/export/exporters.h"
#include "sluice/onnx/export/plan_notes.h"

namespace sluice::onnx {

namespace {

// Why an op cannot be part of a model that computes outputs from inputs; "" if
// it can.
std::string WhyNot(const GraphWriter& graph, const OpDesc& op) {
  if (op.purpose != OpPurpose::kForward) {
    return Format(
        "it is {} op: export program.clone(for_test=True) (C++: "
        "CloneForTest), or name outputs that need no such op",
        op.purpose == OpPurpose::kBackward ? "a gradient" : "an optimizer's");
  }
  const auto test = op.attributes.find("is_test");
  if (test != op.attributes.end() && test->second == Attribute(true)) {
    return "";
  }
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& var : vars) {
      if (!graph.Var(var).persistable) continue;
      return Format(
          "it changes parameter {}; export "
          "program.clone(for_test=True) (C++: CloneForTest)",
          Shown(var));
    }
  }
  return "";
}

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

void OpsWriter::Write(GraphWriter* graph) {
  for (const OpDesc& op : graph->block().ops) {
    ++op_count_;
    const std::string reason = WhyNot(*graph, op);
    if (!reason.empty()) {
      Refuse(op, reason);
      is_training_ = true;
    } else {
      Write(op, graph);
    }
  }
}

void OpsWriter::Write(const OpDesc& op, GraphWriter* graph) {
  graph->BeginOp(op);
  AddNotes(op, graph);
  try {
    ExportOp(op, graph);
  } catch (Error& error) {
    if (error.check_id() == OpExport::kFormId) {
      return Refuse(op, FirstLine(error.what()));
    }
    AddLocation(op.location, &error);
    throw;
  }
}

void OpsWriter::AddNotes(const OpDesc& op, GraphWriter* graph) const {
  // Blocks have their own plans.
  if (options_.plan == nullptr || graph->block().index > 0) return;
  if (op.outputs.empty()) return;
  const auto notes =
      NotesOfOp(*options_.plan, whole_, op.outputs[0].second.at(0));
  for (const auto& [key, value] : notes) {
    graph->DescribeOp(key, value);
  }
}

void OpsWriter::Refuse(const OpDesc& op, const std::string& reason) {
  const std::string made = op.outputs.empty() ? "" : op.outputs[0].second.at(0);
  const std::string where = DescribeLocation(op.location);
  refused_.push_back(Format("{} (makes {}): {}{}", op.type, Shown(made), reason,
                            where.empty() ? "" : "; " + where));
}

void OpsWriter::RaiseRefused() const {
  constexpr size_t kMostListed = 100;
  if (refused_.empty()) return;
  std::string lines;
  for (size_t i = 0; i < std::min(refused_.size(), kMostListed); ++i) {
    lines += "\n  " + refused_[i];
  }
  if (refused_.size() > kMostListed) {
    lines += Format("\n  and {} more", refused_.size() - kMostListed);
  }
  if (is_training_) {
    Raise(ErrorCode::kInvalidArgument, "onnx.save_training",
          "{} of {} ops cannot be exported, some of them because "
          "they train:{}",
          refused_.size(), op_count_, lines);
  }
  Raise(ErrorCode::kUnimplemented, "onnx.no_counterpart",
        "{} of {} ops cannot be exported to ONNX (opset {}):{}",
        refused_.size(), op_count_, options_.opset, lines);
}

}  // namespace sluice::onnx
