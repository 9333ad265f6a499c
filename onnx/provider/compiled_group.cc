#include "sluice/onnx/provider/compiled_group.h"

#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include "sluice/onnx/provider/group_model.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/text.h"

namespace sluice::ort {

void AppendTo(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::app);
  file << text;
  file.close();
  SLUICE_ENFORCE(file, ErrorCode::kNotFound, "onnx.provider_explain",
                 "option explain: cannot write {}", Shown(path));
}

CompiledGroup::CompiledGroup(const Runtime& runtime,
                             const Options& options,
                             const Graph* graph,
                             const Node* fused)
    : runtime_(runtime), options_(options) {
  create_state = [](NodeComputeInfo*, void*, void** state) {
    *state = nullptr;
    return static_cast<Status*>(nullptr);
  };
  compute = [](NodeComputeInfo* info, void*, KernelContext* context) {
    auto* group = static_cast<CompiledGroup*>(info);
    return group->runtime_.Guard([&] { group->Run(context); });
  };
  release_state = [](NodeComputeInfo*, void*) {};

  const auto outputs = runtime.List(kOutputs, fused);
  GroupModel copied =
      MakeModel(runtime, graph, runtime.List(kNodes, graph), outputs);
  for (auto& [name, tensor] : copied.initialisers) {
    tensor = tensor.CopyTo(CPUPlace());
  }
  model_ = Import(runtime, copied, outputs);
  model_.PutParameters(executor_.scope());
  for (const onnx::OnnxValue& output : model_.outputs) {
    outputs_.emplace_back(output.name);
  }
  std::set<std::string> wanted;
  for (const onnx::OnnxValue& input : model_.inputs) {
    wanted.insert(input.name);
  }
  const auto inputs = ReadBy(runtime, fused);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = runtime.NameOf(inputs[i]);
    if (wanted.erase(name) > 0) inputs_.emplace_back(i, std::move(name));
  }
  SLUICE_ENFORCE(wanted.empty(), ErrorCode::kInternal, "onnx.provider_inputs",
                 "ONNX Runtime does not give value {} to the fused node",
                 Shown(*wanted.begin()));
}

void CompiledGroup::Run(KernelContext* context) {
  Feeds feeds;
  for (const auto& [position, name] : inputs_) {
    const Value* value = nullptr;
    runtime_.Check(runtime_[kContextInput](context, position, &value));
    feeds.emplace_back(name, Borrowed(runtime_, value));
  }
  std::optional<ThreadCountGuard> guard;
  if (options_.threads > 0) guard.emplace(options_.threads);
  const std::vector<Tensor> results =
      executor_.Run(model_.program, feeds, outputs_);
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& result = results[i];
    Value* output = nullptr;
    runtime_.Check(runtime_[kContextOutput](
        context, i, result.dims().begin(),
        static_cast<size_t>(result.dims().rank()), &output));
    if (output == nullptr || result.numel() == 0) continue;
    void* data = nullptr;
    runtime_.Check(runtime_[kTensorData](output, &data));
    std::memcpy(data, result.raw_data(), result.bytes());
  }
  if (!options_.explain.empty() && !explained_.exchange(true)) {
    AppendTo(options_.explain,
             executor_.Explain(
                 model_.program,
                 {.pointers = false, .hint_form = "SLUICE_KERNEL_HINTS='{}'"}) +
                 "\n");
  }
}

}  // namespace sluice::ort
