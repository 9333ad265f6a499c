#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sluice/onnx/export/graph_writer.h"
#include "sluice/onnx/save_onnx.h"

namespace sluice::onnx {

// Writes the ops of all blocks of a pruned program, each into the graph of its
// block, and collects those that cannot be written. Borrows its arguments; used
// by one thread.
class OpsWriter {
 public:
  // `whole` is the program before pruning, which options.plan belongs to.
  OpsWriter(const Program& whole, const OnnxSaveOptions& options)
      : whole_(whole), options_(options) {}

  void Write(GraphWriter* graph);
  // Raises Unimplemented, or InvalidArgument if some ops train, and lists all
  // refused ops.
  void RaiseRefused() const;

 private:
  void Write(const OpDesc& op, GraphWriter* graph);
  void AddNotes(const OpDesc& op, GraphWriter* graph) const;
  void Refuse(const OpDesc& op, const std::string& reason);

  const Program& whole_;
  const OnnxSaveOptions& options_;
  std::vector<std::string> refused_;
  size_t op_count_ = 0;
  bool is_training_ = false;
};

}  // namespace sluice::onnx
