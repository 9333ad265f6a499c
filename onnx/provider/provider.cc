#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/onnx/provider/partition.h"
#include "sluice/platform/export.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/text.h"

namespace sluice::ort {

namespace {

// The options of a session.
struct Options {
  int threads = 0;      // 0: as many as Sluice takes by itself
  std::string explain;  // the file for Explain's text; "" for none
};

// Raises NotFound if the file cannot be written.
void AppendTo(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::app);
  file << text;
  file.close();
  SLUICE_ENFORCE(file, ErrorCode::kNotFound, "onnx.provider_explain",
                 "option explain: cannot write {}", Shown(path));
}

// A group of nodes, ready to run. Any number of threads may run it.
class CompiledGroup : public NodeComputeInfo {
 public:
  // `fused` is the node in its place. Copies the constant initialisers. Raises
  // what Import raises.
  CompiledGroup(const Runtime& runtime,
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

 private:
  void Run(KernelContext* context) {
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
               executor_.Explain(model_.program,
                                 {.pointers = false,
                                  .hint_form = "SLUICE_KERNEL_HINTS='{}'"}) +
                   "\n");
    }
  }

  const Runtime& runtime_;
  const Options options_;
  onnx::OnnxModel model_;
  Executor executor_;
  // The inputs that the model has, by position of the fused node.
  std::vector<std::pair<size_t, std::string>> inputs_;
  Fetches outputs_;
  std::atomic<bool> explained_ = false;
};

// The execution provider of a session.
class Provider : public Ep {
 public:
  Provider(const Runtime& runtime, std::string name, Options options)
      : runtime_(runtime),
        name_(std::move(name)),
        options_(std::move(options)) {
    get_name = [](const Ep* ep) { return Of(ep)->name_.c_str(); };
    get_capability = [](Ep* ep, const Graph* graph, SupportInfo* info) {
      return Of(ep)->runtime_.Guard([&] { Of(ep)->Claim(graph, info); });
    };
    compile = [](Ep* ep, const Graph** graphs, const Node** fused, size_t count,
                 Infos infos, Node**) {
      return Of(ep)->runtime_.Guard([&] {
        std::vector<std::unique_ptr<CompiledGroup>> groups;
        groups.reserve(count);
        for (size_t i = 0; i < count; ++i) {
          groups.push_back(std::make_unique<CompiledGroup>(
              Of(ep)->runtime_, Of(ep)->options_, graphs[i], fused[i]));
        }
        for (size_t i = 0; i < count; ++i) {
          infos[i] = groups[i].release();
        }
      });
    };
    release_infos = [](Ep*, Infos infos, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        delete static_cast<CompiledGroup*>(infos[i]);
      }
    };
  }

 private:
  static const Provider* Of(const Ep* ep) {
    return static_cast<const Provider*>(ep);
  }

  // Nodes in subgraphs are claimed with the node that has the subgraph.
  void Claim(const Graph* graph, SupportInfo* info) const {
    if (runtime_.Get(kParentNode, graph) != nullptr) return;
    const Partition partition = PartitionOf(runtime_, graph, name_);
    const FusionOptions fusion;
    for (const Group& group : partition.groups) {
      runtime_.Check(FunctionAt(runtime_.ep_api(), kAddNodesToFuse)(
          info, group.data(), group.size(), &fusion));
    }
    if (!options_.explain.empty() && !partition.left.empty()) {
      AppendTo(options_.explain,
               "Left to other providers:\n" + partition.left + "\n");
    }
  }

  const Runtime& runtime_;
  const std::string name_;
  const Options options_;
};

Options ReadOptions(const Runtime& runtime,
                    const std::string& name,
                    const SessionOptions* session) {
  std::string prefix = "ep." + name + ".";
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  const std::unique_ptr<KeyValues, void (*)(KeyValues*)> entries(
      runtime.Get(kConfigEntries, session), runtime[kReleaseKeyValues]);
  Strings keys = nullptr, values = nullptr;
  size_t count = 0;
  runtime[kKeysAndValues](entries.get(), &keys, &values, &count);
  Options options;
  for (size_t i = 0; i < count; ++i) {
    std::string_view key = keys[i];
    const std::string_view value = values[i];
    if (!key.starts_with(prefix)) continue;
    key.remove_prefix(prefix.size());
    if (key == "explain") {
      options.explain = value;
      std::ofstream(options.explain, std::ios::trunc).close();
      AppendTo(options.explain, "");
    } else if (key == "threads") {
      const char* end = value.data() + value.size();
      const auto [read, problem] =
          std::from_chars(value.data(), end, options.threads);
      SLUICE_ENFORCE(problem == std::errc() && read == end &&
                         options.threads >= 0 && options.threads <= kMaxThreads,
                     ErrorCode::kInvalidArgument, "onnx.provider_threads",
                     "option threads: expected a number from 0 (all CPUs) to "
                     "{}, got {}",
                     kMaxThreads, Shown(value));
    } else {
      Raise(ErrorCode::kInvalidArgument, "onnx.provider_option",
            "Sluice has no option {}; it has explain and threads", Shown(key));
    }
  }
  return options;
}

class Factory : public EpFactory {
 public:
  Factory(const Runtime& runtime, std::string name)
      : runtime_(runtime), name_(std::move(name)) {
    get_name = [](const EpFactory* factory) {
      return static_cast<const Factory*>(factory)->name_.c_str();
    };
    get_vendor = [](const EpFactory*) { return "The Sluice authors"; };
    get_vendor_id = [](const EpFactory*) { return uint32_t{0}; };
    get_version = [](const EpFactory*) { return SLUICE_VERSION; };
    create_data_transfer = [](EpFactory*, void** data_transfer) {
      *data_transfer = nullptr;  // everything is on the host
      return static_cast<Status*>(nullptr);
    };
    is_stream_aware = [](const EpFactory*) { return false; };
    get_supported_devices = [](EpFactory* factory, Devices devices,
                               size_t device_count, EpDevice** ep_devices,
                               size_t room, size_t* count) {
      const Runtime& runtime = static_cast<Factory*>(factory)->runtime_;
      return runtime.Guard([&] {
        *count = 0;
        for (size_t i = 0; i < device_count && *count < room; ++i) {
          if (runtime[kDeviceType](devices[i]) != kCpuDevice) continue;
          runtime.Check(FunctionAt(runtime.ep_api(), kCreateEpDevice)(
              factory, devices[i], nullptr, nullptr, ep_devices));
          *count = 1;
          break;
        }
      });
    };
    create_ep = [](EpFactory* factory, Devices, Metadata, size_t,
                   const SessionOptions* session, const void*, Ep** ep) {
      auto* self = static_cast<Factory*>(factory);
      return self->runtime_.Guard([&] {
        *ep = new Provider(self->runtime_, self->name_,
                           ReadOptions(self->runtime_, self->name_, session));
      });
    };
    release_ep = [](EpFactory*, Ep* ep) { delete static_cast<Provider*>(ep); };
  }

 private:
  const Runtime runtime_;
  const std::string name_;
};

}  // namespace

// The two functions that ONNX Runtime looks for.
extern "C" {

// Makes the factory of execution providers that are called `name`. Fails with a
// status, or with a line on stderr if it cannot make one, for a runtime that
// lacks version kApiVersion.
SLUICE_API Status* CreateEpFactories(const char* name,
                                     const ApiBase* base,
                                     const void* /*logger*/,
                                     EpFactory** factories,
                                     size_t room,
                                     size_t* count) {
  if (count != nullptr) *count = 0;
  const Table api = base == nullptr ? nullptr : base->get_api(kApiVersion);
  if (api == nullptr) {
    const Table oldest = base == nullptr ? nullptr : base->get_api(1);
    const std::string text = Format(
        "Sluice's execution provider needs ONNX Runtime 1.{} or newer; this "
        "program has {}",
        kApiVersion, base == nullptr ? "none" : base->get_version());
    if (oldest != nullptr) {
      return FunctionAt(oldest, kCreateStatus)(kFail, text.c_str());
    }
    std::fprintf(stderr, "%s\n", text.c_str());
    return nullptr;
  }
  const Runtime runtime(*base);
  return runtime.Guard([&] {
    SLUICE_ENFORCE(room > 0 && factories != nullptr && count != nullptr,
                   ErrorCode::kInvalidArgument, "onnx.provider_room",
                   "there is no room for a factory of execution providers");
    factories[0] = new Factory(runtime, name == nullptr ? "Sluice" : name);
    *count = 1;
  });
}

SLUICE_API Status* ReleaseEpFactory(EpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
}

}  // namespace sluice::ort
