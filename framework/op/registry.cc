#include "sluice/framework/op/registry.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/late_tables.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/plugin_kernels.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

std::string ToString(const KernelDef& kernel) {
  return Format("{}/{} ({})", kernel.op, kernel.variant, kernel.key);
}

std::string CostRow(const KernelDef& kernel, const KernelWork& work) {
  if (!work.costs.empty()) return work.costs;
  const bool on_cpu = kernel.key.place == PlaceKind::kCPU;
  return Format("{}/{}/{}{}", kernel.op, kernel.key.library, kernel.variant,
                on_cpu ? "" : Format("/{}", kernel.key.place));
}

// A deque and a map keep addresses valid while entries are added.
struct Registry::State {
  // The registrations of one op that are run when it is first looked up.
  struct Late {
    struct Part {
      const char* version;
      const char* family;
      std::function<void(Registry& registry)> add;
    };
    std::vector<Part> parts;
    bool has_operator = false;
    bool begun = false;
  };

  mutable std::shared_mutex mutex;
  std::deque<OpSchema> all_schemas;  // with those that were replaced
  std::map<std::string, const OpSchema*, std::less<>> schemas;
  std::map<OpRole, const OpSchema*> by_role;
  std::deque<KernelDef> kernels;
  std::deque<KernelModule> modules;
  std::map<std::string, std::string, std::less<>> library_versions;
  std::vector<PassDef> passes;
  std::map<std::string, std::vector<const KernelDef*>, std::less<>> by_op;
  std::map<std::string, Late, std::less<>> late;  // by op
  std::recursive_mutex late_mutex;                // of who adds them
  std::atomic<uint64_t> replacements = 0;

  // Completes the kernel and stores it at a stable address.
  const KernelDef* Keep(KernelDef kernel) {
    kernel.recorded_version = kernel.version;
    const auto library = library_versions.find(kernel.key.library);
    if (library != library_versions.end()) {
      kernel.recorded_version += ", " + library->second;
    }
    return &kernels.emplace_back(std::move(kernel));
  }
};

Registry::Registry() : state_(std::make_unique<State>()), self_(this) {}
Registry::~Registry() = default;

namespace {

// What the kernels and operators that AddFrom adds have in common; null outside
// of it.
struct Source {
  const char* version = nullptr;
  const char* family = "";
  bool later = false;  // operators are added when they are first looked up
};
thread_local Source t_source;

// Libraries of SLUICE_KERNEL_PATH may use the registry while they are loaded;
// other threads wait.
void LoadKernelPathOnce(Registry& registry) {
  static std::once_flag once;
  thread_local bool loading = false;
  if (loading) return;
  std::call_once(once, [&registry] {
    const struct Loading {
      Loading() { loading = true; }
      ~Loading() { loading = false; }
    } guard;
    LoadKernelPath(registry);
  });
}

}  // namespace

Registry& Registry::Global() {
  static Registry* const kRegistry = [] {
    auto* registry = new Registry();
    RegisterBuiltins(*registry);
    SetPluginSink([registry](const DevicePlugin& plugin) {
      AddPluginKernels(plugin, *registry);
    });
    return registry;
  }();
  LoadKernelPathOnce(*kRegistry);
  return *kRegistry;
}

void Registry::AddOperator(std::string_view name,
                           const std::function<void(OpSchema&)>& fill) {
  if (t_source.later) {
    const std::unique_lock lock(state_->mutex);
    State::Late& late = state_->late[std::string(name)];
    late.has_operator = true;
    late.parts.push_back({t_source.version, t_source.family,
                          [op = std::string(name), fill](Registry& registry) {
                            registry.AddOperator(op, fill);
                          }});
    return;
  }
  AddLate(name);
  OpSchema schema{std::string(name)};
  schema.Family(t_source.family);
  fill(schema);
  schema.Validate();
  const std::unique_lock lock(state_->mutex);
  const OpRole role = schema.role();
  const auto serving = state_->by_role.find(role);
  SLUICE_ENFORCE(serving == state_->by_role.end(), ErrorCode::kInvalidArgument,
                 "registry.role_twice",
                 "operator {} serves the role {}, which {} has already", name,
                 role, serving->second->name());
  SLUICE_ENFORCE(!state_->schemas.contains(name), ErrorCode::kInvalidArgument,
                 "registry.operator_twice", "operator {} is registered already",
                 name);
  const OpSchema* stored = &state_->all_schemas.emplace_back(std::move(schema));
  state_->schemas.emplace(name, stored);
  if (role != OpRole::kNone) state_->by_role[role] = stored;
}

void Registry::ReplaceOperator(const OpSchema& schema) {
  AddLate(schema.name());
  const std::unique_lock lock(state_->mutex);
  const OpSchema* stored = &state_->all_schemas.emplace_back(schema);
  const bool is_new =
      state_->schemas.insert_or_assign(schema.name(), stored).second;
  if (!is_new) ++state_->replacements;
}

namespace {

void CheckComplete(const KernelDef& kernel) {
  SLUICE_ENFORCE(!kernel.op.empty() && kernel.make != nullptr,
                 ErrorCode::kInvalidArgument, "registry.kernel_incomplete",
                 "kernel {} needs an op and a way to make it", kernel);
}

}  // namespace

// Whether two kernels of an op have the same text. Thousands are registered at
// the start, too many to format each.
static bool HaveOneName(const KernelDef& a, const KernelDef& b) {
  return a.variant == b.variant && a.key == b.key;
}

void Registry::AddOperatorLater(std::string_view op,
                                const char* version,
                                const char* family,
                                void (*add)(Registry& registry)) {
  const std::unique_lock lock(state_->mutex);
  State::Late& late = state_->late[std::string(op)];
  late.has_operator = true;
  late.parts.push_back({version, family, add});
}

void Registry::AddKernelsLater(std::string_view op,
                               const char* version,
                               std::function<void(Registry&)> add) {
  const std::unique_lock lock(state_->mutex);
  state_->late[std::string(op)].parts.push_back({version, "", std::move(add)});
}

// Registers what is late of an op. Other threads wait for it; what adds it
// comes here again, and passes.
void Registry::AddLate(std::string_view op) const {
  {
    const std::shared_lock lock(state_->mutex);
    if (!state_->late.contains(op)) return;
  }
  const std::lock_guard one_thread(state_->late_mutex);
  // Returns what is to be added, and forgets the op after the last of it.
  const auto take = [&](bool first) -> std::vector<State::Late::Part> {
    const std::unique_lock lock(state_->mutex);
    const auto late = state_->late.find(op);
    if (late == state_->late.end() || (first && late->second.begun)) return {};
    late->second.begun = true;
    auto parts = std::exchange(late->second.parts, {});
    if (parts.empty()) state_->late.erase(late);
    return parts;
  };
  for (auto parts = take(true); !parts.empty(); parts = take(false)) {
    try {
      for (const auto& [version, family, add] : parts) {
        self_->AddFrom(version, family, add);
      }
    } catch (...) {
      const std::unique_lock lock(state_->mutex);
      state_->late.erase(state_->late.find(op));
      throw;
    }
  }
}

void Registry::AddAllLate() const {
  std::vector<std::string> ops;
  {
    const std::shared_lock lock(state_->mutex);
    for (const auto& [op, late] : state_->late) {
      ops.push_back(op);
    }
  }
  for (const std::string& op : ops) {
    AddLate(op);
  }
}

void Registry::AddKernel(KernelDef kernel) {
  CheckComplete(kernel);
  AddLate(kernel.op);
  const std::unique_lock lock(state_->mutex);
  auto& same_op = state_->by_op[kernel.op];
  for (const KernelDef* other : same_op) {
    SLUICE_ENFORCE(!HaveOneName(*other, kernel), ErrorCode::kInvalidArgument,
                   "registry.kernel_twice", "kernel {} is registered already",
                   kernel);
  }
  same_op.push_back(state_->Keep(std::move(kernel)));
}

void Registry::ReplaceKernel(KernelDef kernel) {
  CheckComplete(kernel);
  AddLate(kernel.op);
  const std::unique_lock lock(state_->mutex);
  auto& same_op = state_->by_op[kernel.op];
  const auto same_name = std::ranges::find_if(
      same_op,
      [&](const KernelDef* other) { return HaveOneName(*other, kernel); });
  const KernelDef* stored = state_->Keep(std::move(kernel));
  if (same_name != same_op.end()) {
    *same_name = stored;
    ++state_->replacements;
  } else {
    same_op.push_back(stored);
  }
}

const OpSchema* Registry::FindSchema(std::string_view op) const {
  const auto find = [&]() -> const OpSchema* {
    const std::shared_lock lock(state_->mutex);
    const auto found = state_->schemas.find(op);
    return found == state_->schemas.end() ? nullptr : found->second;
  };
  if (const OpSchema* schema = find()) return schema;
  AddLate(op);
  return find();
}

const OpSchema& Registry::Schema(std::string_view op) const {
  const OpSchema* schema = FindSchema(op);
  if (schema == nullptr) {
    Raise(ErrorCode::kNotFound, "registry.unknown_op", "{}",
          NoOperator(op, OpNames()));
  }
  return *schema;
}

const OpSchema& Registry::OpFor(OpRole role) const {
  AddAllLate();
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->by_role.find(role);
  if (found == state_->by_role.end()) {
    Raise(ErrorCode::kNotFound, "registry.no_op_for_role",
          "no operator serves the role {}", role);
  }
  return *found->second;
}

std::vector<const KernelDef*> Registry::Kernels(std::string_view op) const {
  AddLate(op);
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->by_op.find(op);
  if (found == state_->by_op.end()) return {};
  return found->second;
}

std::vector<const KernelDef*> Registry::Kernels() const {
  AddAllLate();
  const std::shared_lock lock(state_->mutex);
  std::vector<const KernelDef*> kernels;
  for (const auto& [op, of_op] : state_->by_op) {
    kernels.insert(kernels.end(), of_op.begin(), of_op.end());
  }
  return kernels;
}

uint64_t Registry::replacements() const {
  return state_->replacements.load();
}

void Registry::AddModule(KernelModule module) {
  const std::unique_lock lock(state_->mutex);
  state_->modules.push_back(std::move(module));
}

namespace {

struct SourceGuard {
  explicit SourceGuard(Source source) { t_source = source; }
  ~SourceGuard() { t_source = before; }
  const Source before = t_source;
};

}  // namespace

void Registry::AddFrom(const char* version,
                       const char* family,
                       const std::function<void(Registry&)>& add) {
  const SourceGuard guard({version, family});
  add(*this);
}

void AddTableLater(Registry& registry,
                   const char* version,
                   const char* family,
                   void (*add)(Registry& registry)) {
  const SourceGuard guard({version, family, /*later=*/true});
  add(registry);
}

void Registry::SetLibraryVersion(std::string_view library,
                                 std::string_view version) {
  const std::unique_lock lock(state_->mutex);
  state_->library_versions.insert_or_assign(std::string(library),
                                            std::string(version));
}

void Registry::AddPass(PassDef pass) {
  const std::unique_lock lock(state_->mutex);
  auto& passes = state_->passes;
  for (const PassDef& other : passes) {
    SLUICE_ENFORCE(other.name != pass.name, ErrorCode::kInvalidArgument,
                   "registry.pass_twice", "pass {} is registered already",
                   pass.name);
  }
  const auto later = std::find_if(
      passes.begin(), passes.end(),
      [&](const PassDef& other) { return other.order > pass.order; });
  passes.insert(later, std::move(pass));
}

std::vector<PassDef> Registry::Passes() const {
  const std::shared_lock lock(state_->mutex);
  return state_->passes;
}

std::vector<const KernelModule*> Registry::Modules(std::string_view op) const {
  const std::shared_lock lock(state_->mutex);
  std::vector<const KernelModule*> modules;
  for (const KernelModule& module : state_->modules) {
    const auto& ops = module.ops;
    if (std::find(ops.begin(), ops.end(), op) != ops.end()) {
      modules.push_back(&module);
    }
  }
  return modules;
}

std::vector<std::string> Registry::ModuleLibraries() const {
  const std::shared_lock lock(state_->mutex);
  std::vector<std::string> libraries;
  for (const KernelModule& module : state_->modules) {
    libraries.push_back(module.library);
  }
  return libraries;
}

std::vector<std::string> Registry::OpNames() const {
  const std::shared_lock lock(state_->mutex);
  std::set<std::string> names;
  for (const auto& [name, schema] : state_->schemas) {
    names.insert(name);
  }
  for (const auto& [name, late] : state_->late) {
    if (late.has_operator) names.insert(name);
  }
  return {names.begin(), names.end()};
}

void internal::AddLater(Registry& registry,
                        std::string_view op,
                        std::function<void(Registry&, std::string_view)> add) {
  registry.AddKernelsLater(op, t_source.version,
                           [name = std::string(op), add = std::move(add)](
                               Registry& to) { add(to, name); });
}

void internal::AddKernel(
    Registry& registry,
    std::string_view op,
    PlaceKey place,
    const char* library,
    const char* variant,
    const KernelTraits& traits,
    std::unique_ptr<OpKernel> (*make)(const OpKernelConstruction&),
    std::span<const DType> dtypes) {
  for (const DType dtype : dtypes) {
    KernelDef kernel;
    kernel.op = op;
    kernel.key = {place.kind, dtype, library};
    kernel.variant = variant;
    kernel.estimate = traits.estimate;
    kernel.predicate = traits.predicate;
    kernel.exchanges = traits.exchanges;
    kernel.make_queue = traits.make_queue;
    kernel.make = make;
    if (t_source.version != nullptr) kernel.version = t_source.version;
    registry.AddKernel(std::move(kernel));
  }
}

}  // namespace sluice
