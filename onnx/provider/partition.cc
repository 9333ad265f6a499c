#include "sluice/onnx/provider/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "sluice/framework/run/executor.h"
#include "sluice/onnx/provider/group_model.h"
#include "sluice/platform/text.h"

namespace sluice::ort {

namespace {

// Raises Unimplemented if the kernels of the machine cannot compute the model.
// Sizes that are unknown yet are 1; other errors may come from that.
void CheckKernels(const onnx::OnnxModel& model) try {
  Executor executor;
  model.PutParameters(executor.scope());
  Feeds feeds;
  for (const onnx::OnnxValue& input : model.inputs) {
    std::vector<int64_t> sizes;
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
  if (error.code() == ErrorCode::kUnimplemented) throw;
}

class Partitioner {
 public:
  Partitioner(const Runtime& runtime,
              const Graph* graph,
              const std::string& provider)
      : runtime_(runtime),
        graph_(graph),
        provider_(provider),
        nodes_(runtime.List(kGraphNodeCount, kGraphNodes, graph)) {
    std::map<std::string, size_t> makers;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const ValueInfo* value : MadeBy(runtime, nodes_[i])) {
        makers.emplace(runtime.NameOf(value), i);
      }
    }
    readers_.resize(nodes_.size());
    awaited_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const ValueInfo* value : ReadBy(runtime, nodes_[i])) {
        const auto maker = makers.find(runtime.NameOf(value));
        if (maker == makers.end()) continue;
        readers_[maker->second].insert(i);
      }
    }
    for (const auto& readers : readers_) {
      for (size_t reader : readers) {
        ++awaited_[reader];
      }
    }
  }

  Partition Run() {
    Partition result;
    std::vector<size_t> all(nodes_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    if (all.empty()) return result;
    if (WhyNot(all).empty()) {
      result.groups.push_back(nodes_);
      return result;
    }
    std::vector<bool> supported;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string reason = WhyNot({i});
      supported.push_back(reason.empty());
      if (!reason.empty()) AddLeft({i}, reason, &result.left);
    }
    for (const std::vector<size_t>& run : Runs(supported)) {
      if (const std::string reason = WhyNot(run); !reason.empty()) {
        AddLeft(run, reason, &result.left);
        continue;
      }
      Group& group = result.groups.emplace_back();
      for (size_t i : run) {
        group.push_back(nodes_[i]);
      }
    }
    return result;
  }

 private:
  // Why these nodes cannot be imported or computed, in one line; "" if they
  // can.
  std::string WhyNot(const std::vector<size_t>& run) const {
    try {
      Group group;
      for (size_t i : run) {
        const char* provider = runtime_.Get(kNodeProvider, nodes_[i]);
        SLUICE_ENFORCE(
            provider == nullptr || *provider == '\0' || provider == provider_,
            ErrorCode::kUnimplemented, "onnx.provider_taken",
            "it is a node of {}", std::string(provider));
        group.push_back(nodes_[i]);
      }
      const auto outputs = OutputsOf(run);
      const GroupModel model = MakeModel(runtime_, graph_, group, outputs);
      CheckKernels(Import(runtime_, model, outputs));
      return "";
    } catch (const Error& error) {
      std::string_view text = error.what();
      // Refused nodes are listed, a line for each: "  node d1 (CDist): ...".
      if (const size_t list = text.find(":\n  "); list != text.npos) {
        text.remove_prefix(text.find("): ", list) + 3);
      }
      return std::string(text.substr(0, text.find('\n')));
    }
  }

  // What other nodes, or the user, read of what the nodes of a run make.
  std::vector<const ValueInfo*> OutputsOf(
      const std::vector<size_t>& run) const {
    const std::set<size_t> inside(run.begin(), run.end());
    std::set<std::string> read;
    for (size_t i : run) {
      for (size_t reader : readers_[i]) {
        if (inside.contains(reader)) continue;
        for (const ValueInfo* value : ReadBy(runtime_, nodes_[reader])) {
          read.insert(runtime_.NameOf(value));
        }
      }
    }
    std::vector<const ValueInfo*> outputs;
    for (size_t i : run) {
      for (const ValueInfo* value : MadeBy(runtime_, nodes_[i])) {
        if (runtime_.Get(kIsGraphOutput, value) ||
            read.contains(runtime_.NameOf(value))) {
          outputs.push_back(value);
        }
      }
    }
    return outputs;
  }

  // All supported nodes, in runs of a topological order that takes as many
  // nodes of one kind as are ready.
  std::vector<std::vector<size_t>> Runs(const std::vector<bool>& supported) {
    std::vector<size_t> ready[2];
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (awaited_[i] == 0) ready[supported[i]].push_back(i);
    }
    std::vector<std::vector<size_t>> runs;
    for (bool kind = false; !ready[0].empty() || !ready[1].empty();
         kind = !kind) {
      std::vector<size_t>& run = ready[kind];
      for (size_t at = 0; at < run.size(); ++at) {
        for (size_t reader : readers_[run[at]]) {
          if (--awaited_[reader] == 0) {
            ready[supported[reader]].push_back(reader);
          }
        }
      }
      if (kind && !run.empty()) runs.push_back(run);
      run.clear();
    }
    return runs;
  }

  void AddLeft(const std::vector<size_t>& run,
               const std::string& reason,
               std::string* left) const {
    for (size_t i : run) {
      *left += Format("node {} ({}): {}\n",
                      Shown(runtime_.Get(kNodeName, nodes_[i])),
                      Shown(runtime_.Get(kNodeType, nodes_[i])), reason);
    }
  }

  const Runtime& runtime_;
  const Graph* graph_;
  const std::string& provider_;
  const Group nodes_;
  std::vector<std::set<size_t>> readers_;  // of each node's outputs
  std::vector<size_t> awaited_;            // how many nodes each reads from
};

}  // namespace

Partition PartitionOf(const Runtime& runtime,
                      const Graph* graph,
                      const std::string& provider) {
  return Partitioner(runtime, graph, provider).Run();
}

}  // namespace sluice::ort
