#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/provider/runtime.h"

namespace sluice::ort {

// The options of a session.
struct Options {
  int threads = 0;      // 0: as many as Sluice takes by itself
  std::string explain;  // the file for Explain's text; "" for none
};

// Appends to the file. Raises NotFound if it cannot be written.
void AppendTo(const std::string& path, const std::string& text);

// A group of nodes, ready to run. Any number of threads may run it.
class CompiledGroup : public NodeComputeInfo {
 public:
  // `fused` is the node in its place. Copies the constant initialisers. Raises
  // what Import raises.
  CompiledGroup(const Runtime& runtime,
                const Options& options,
                const Graph* graph,
                const Node* fused);

 private:
  void Run(KernelContext* context);

  const Runtime& runtime_;
  const Options options_;
  onnx::OnnxModel model_;
  Executor executor_;
  // The inputs that the model has, by position of the fused node.
  std::vector<std::pair<size_t, std::string>> inputs_;
  Fetches outputs_;
  std::atomic<bool> explained_ = false;
};

}  // namespace sluice::ort
