#include "sluice/onnx/provider/partition.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/text.h"

namespace sluice::ort {

namespace {

// Numbers of nodes.
using Run = std::vector<size_t>;

// Raises the error of an op for which there is no kernel. Sizes that are not
// known yet are 1; other errors may come from that.
void CheckKernels(const onnx::OnnxModel& model) try {
  Executor executor;
  Feeds feeds;
  for (const onnx::OnnxValue& input : model.inputs) {
    std::vector<int64_t> sizes;
    sizes.reserve(input.shape.size());
    for (const onnx::OnnxDim& dim : input.shape) {
      sizes.push_back(std::max<int64_t>(dim.size, 1));
    }
    Tensor tensor;
    tensor.Resize(DDim(sizes)).mutable_data(input.dtype, CPUPlace());
    feeds.emplace_back(input.name, std::move(tensor));
  }
  Fetches fetches;
  for (const onnx::OnnxValue& output : model.outputs) {
    fetches.emplace_back(output.name);
  }
  executor.Prepare(model.program, feeds, fetches);
} catch (const Error& error) {
  if (error.code() == ErrorCode::kUnimplemented ||
      error.check_id() == "resolver.no_kernel") {
    throw;
  }
}

class Partitioner {
 public:
  Partitioner(const Runtime& runtime,
              const Graph* graph,
              const std::string& provider)
      : runtime_(runtime),
        graph_(graph),
        provider_(provider),
        nodes_(runtime.List(kNodes, graph)),
        awaited_(nodes_.size()) {
    std::set<std::string> made;
    for (const Node* node : nodes_) {
      for (const ValueInfo* value : runtime.List(kOutputs, node)) {
        made.insert(runtime.NameOf(value));
      }
    }
    made.erase("");
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const ValueInfo* value : ReadBy(runtime, nodes_[i])) {
        const std::string name = runtime.NameOf(value);
        if (made.contains(name)) awaited_[i] += readers_[name].insert(i).second;
      }
    }
  }

  Partition Make() {
    Partition result;
    Run all(nodes_.size());
    std::iota(all.begin(), all.end(), 0);
    if (all.empty() || Take(all, &result, nullptr)) return result;
    std::vector<bool> supported;
    Partition single;
    for (size_t i : all) {
      supported.push_back(Take({i}, &single, &result.left));
    }
    for (const Run& run : Runs(supported)) {
      Take(run, &result, &result.left);
    }
    return result;
  }

 private:
  // Adds the nodes as a group if they can be imported and computed; else adds
  // the reason to `left`.
  bool Take(const Run& run, Partition* result, std::string* left) const try {
    Group group;
    group.reserve(run.size());
    for (size_t i : run) {
      CheckNode(nodes_[i]);
      group.push_back(nodes_[i]);
    }
    const std::vector<const ValueInfo*> outputs = OutputsOf(run);
    CheckKernels(
        Import(runtime_, MakeModel(runtime_, graph_, group, outputs), outputs));
    result->groups.push_back(std::move(group));
    return true;
  } catch (const Error& error) {
    if (left == nullptr) return false;
    std::string_view reason = error.what();
    if (error.check_id() == "onnx.unsupported") {
      // Nodes are listed, a line for each: "  node d1 (CDist): ...".
      const size_t list = reason.find("\n  ");
      reason.remove_prefix(reason.find("): ", list) + 3);
    }
    for (size_t i : run) {
      *left += Format("node {} ({}): {}\n",
                      Shown(runtime_.Get(kNodeName, nodes_[i])),
                      Shown(runtime_.Get(kNodeType, nodes_[i])),
                      reason.substr(0, reason.find('\n')));
    }
    return false;
  }

  void CheckNode(const Node* node) const {
    const char* provider = runtime_.Get(kNodeProvider, node);
    SLUICE_ENFORCE(
        provider == nullptr || *provider == '\0' || provider == provider_,
        ErrorCode::kUnimplemented, "onnx.provider_taken", "it is a node of {}",
        provider);
    SLUICE_ENFORCE(runtime_.gives_captured() ||
                       runtime_.List(kImplicitInputs, node).empty(),
                   ErrorCode::kUnimplemented, "onnx.provider_captured",
                   "its subgraphs read values around them, which needs ONNX "
                   "Runtime 1.{}",
                   kGivesCaptured);
  }

  // The outputs of a run: its values that other nodes or the user read.
  std::vector<const ValueInfo*> OutputsOf(const Run& run) const {
    const std::set<size_t> inside(run.begin(), run.end());
    std::vector<const ValueInfo*> outputs;
    for (size_t i : run) {
      for (const ValueInfo* value : runtime_.List(kOutputs, nodes_[i])) {
        const std::string name = runtime_.NameOf(value);
        const std::set<size_t>& readers = ReadersOf(name);
        if (!name.empty() && (runtime_.Get(kIsGraphOutput, value) ||
                              !std::includes(inside.begin(), inside.end(),
                                             readers.begin(), readers.end()))) {
          outputs.push_back(value);
        }
      }
    }
    return outputs;
  }

  // All supported nodes, in runs of a topological order that takes as many
  // nodes of one kind as are ready.
  std::vector<Run> Runs(const std::vector<bool>& supported) {
    Run ready[2];
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (awaited_[i] == 0) ready[supported[i]].push_back(i);
    }
    std::vector<Run> runs;
    for (bool kind = false; !ready[0].empty() || !ready[1].empty();
         kind = !kind) {
      Run& run = ready[kind];
      for (size_t at = 0; at < run.size(); ++at) {
        for (const ValueInfo* value :
             runtime_.List(kOutputs, nodes_[run[at]])) {
          for (size_t reader : ReadersOf(runtime_.NameOf(value))) {
            if (--awaited_[reader] == 0) {
              ready[supported[reader]].push_back(reader);
            }
          }
        }
      }
      if (kind && !run.empty()) runs.push_back(run);
      run.clear();
    }
    return runs;
  }

  const std::set<size_t>& ReadersOf(const std::string& value) const {
    static const std::set<size_t> kNone;
    const auto found = readers_.find(value);
    return found == readers_.end() ? kNone : found->second;
  }

  const Runtime& runtime_;
  const Graph* graph_;
  const std::string& provider_;
  const Group nodes_;
  std::map<std::string, std::set<size_t>> readers_;  // of each value
  Run awaited_;  // how many values each node reads from others
};

}  // namespace

Partition PartitionOf(const Runtime& runtime,
                      const Graph* graph,
                      const std::string& provider) {
  return Partitioner(runtime, graph, provider).Make();
}

}  // namespace sluice::ort
