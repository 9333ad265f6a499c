#include "sluice/framework/registry.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "sluice/framework/near_names.h"
#include "sluice/framework/plugin_kernels.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::ErrorCode;

std::string ToString(const KernelDef& kernel) {
  return platform::Format("{}/{} ({})", kernel.op, kernel.variant, kernel.key);
}

// A deque and a map keep addresses valid while more is registered.
struct Registry::State {
  mutable std::shared_mutex mutex;
  std::map<std::string, OpSchema, std::less<>> schemas;
  std::deque<KernelDef> kernels;
  std::map<std::string, std::vector<const KernelDef*>, std::less<>> by_op;
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Registry& Registry::Global() {
  static Registry* const kRegistry = [] {
    auto* registry = new Registry();
    RegisterBuiltins(*registry);
    platform::SetPluginSink([registry](const platform::DevicePlugin& plugin) {
      AddPluginKernels(plugin, *registry);
    });
    return registry;
  }();
  return *kRegistry;
}

void Registry::AddOperator(std::string_view name, void (*fill)(OpSchema&)) {
  OpSchema schema{std::string(name)};
  fill(schema);
  schema.Validate();
  const std::unique_lock lock(state_->mutex);
  const bool added =
      state_->schemas.emplace(std::string(name), std::move(schema)).second;
  SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "registry.operator_twice",
                 "operator {} is registered already", name);
}

void Registry::AddKernel(KernelDef kernel) {
  SLUICE_ENFORCE(!kernel.op.empty() && kernel.make != nullptr,
                 ErrorCode::kInvalidArgument, "registry.kernel_incomplete",
                 "kernel {} needs an op and a way to make it", kernel);
  const std::unique_lock lock(state_->mutex);
  auto& same_op = state_->by_op[kernel.op];
  for (const KernelDef* other : same_op) {
    SLUICE_ENFORCE(ToString(*other) != ToString(kernel),
                   ErrorCode::kInvalidArgument, "registry.kernel_twice",
                   "kernel {} is registered already", kernel);
  }
  const KernelDef& stored = state_->kernels.emplace_back(std::move(kernel));
  const auto later =
      std::find_if(same_op.begin(), same_op.end(), [&](const KernelDef* other) {
        return other->priority < stored.priority;
      });
  same_op.insert(later, &stored);
}

const OpSchema* Registry::FindSchema(std::string_view op) const {
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->schemas.find(op);
  return found == state_->schemas.end() ? nullptr : &found->second;
}

const OpSchema& Registry::Schema(std::string_view op) const {
  const OpSchema* schema = FindSchema(op);
  if (schema == nullptr) {
    platform::Raise(ErrorCode::kNotFound, "registry.unknown_op",
                    "there is no operator {}{}", op,
                    SuggestNames(op, OpNames()));
  }
  return *schema;
}

std::vector<const KernelDef*> Registry::Kernels(std::string_view op) const {
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->by_op.find(op);
  if (found == state_->by_op.end()) return {};
  return found->second;
}

std::vector<std::string> Registry::OpNames() const {
  const std::shared_lock lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, schema] : state_->schemas) {
    names.push_back(name);
  }
  return names;
}

}  // namespace sluice::framework
