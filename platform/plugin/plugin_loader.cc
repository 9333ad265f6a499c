#include "sluice/platform/plugin/plugin_loader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <dlfcn.h>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/plugin_device.h"
#include "sluice/platform/plugin/plugin_file.h"
#include "sluice/platform/plugin/plugin_host.h"
#include "sluice/platform/plugin/plugin_table.h"
#include "sluice/platform/text.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

using EntryPoint = decltype(&SluicePluginInit);

struct LoaderState {
  std::mutex mutex;
  std::vector<std::unique_ptr<const DevicePlugin>> plugins;
  PluginSink sink;
};

LoaderState& State() {
  static auto* state = new LoaderState;
  return *state;
}

EntryPoint FindEntryPoint(const std::string& path) {
  // A plug-in's symbols stay local; unresolved ones are detected now.
  void* library = OpenLibrary(path, "plug-in");
  if (library == nullptr) {
    Raise(ErrorCode::kInvalidArgument, "plugin.unloadable",
          "plug-in {}: the system cannot load it: {}", path, dlerror());
  }
  void* symbol = dlsym(library, "SluicePluginInit");
  if (symbol == nullptr) {
    Raise(ErrorCode::kInvalidArgument, "plugin.no_entry",
          "plug-in {}: expected a library that exports SluicePluginInit, got "
          "one that does not",
          path);
  }
  return reinterpret_cast<EntryPoint>(symbol);
}

const SluiceDevicePlugin* Initialise(const std::string& path) {
  const EntryPoint entry = FindEntryPoint(path);
  const SluiceDevicePlugin* given = nullptr;
  const PluginResult result = CallPlugin([&](SluiceError* error) {
    given = entry(PluginHost(), error);
    return SLUICE_OK;
  });
  EnforcePluginOk(path, "SluicePluginInit", result);
  if (given == nullptr) {
    Raise(ErrorCode::kFailedPrecondition, "plugin.refused",
          "plug-in {}: it cannot be used: {}", path,
          result.text.empty() ? "it gave no reason" : result.text);
  }
  return given;
}

int CountDevices(const std::string& path, const SluiceDevicePlugin& table) {
  // The largest index of a PlaceKey means "no device".
  constexpr int kMaxDevices = 0xFFFE;
  int32_t count = -1;
  EnforcePluginOk(path, "device_count", CallPlugin([&](SluiceError* error) {
                    return table.device_count(&count, error);
                  }));
  SLUICE_ENFORCE(count >= 0 && count <= kMaxDevices,
                 ErrorCode::kInvalidArgument, "plugin.device_count",
                 "plug-in {}: expected 0 to {} devices, got {}", path,
                 kMaxDevices, count);
  return count;
}

void CheckIsNew(const LoaderState& state, const DevicePlugin& plugin) {
  const std::string_view type = plugin.table.device_type;
  SLUICE_ENFORCE(type != "cpu" && type != "cuda", ErrorCode::kInvalidArgument,
                 "plugin.reserved_type",
                 "plug-in {}: the device type '{}' belongs to Sluice itself",
                 plugin.path, type);
  for (const auto& other : state.plugins) {
    SLUICE_ENFORCE(type != other->table.device_type,
                   ErrorCode::kInvalidArgument, "plugin.duplicate_device",
                   "plug-in {}: the device type '{}' is registered already, by "
                   "{}",
                   plugin.path, type, other->path);
  }
}

std::unique_ptr<const DevicePlugin> Stage(const LoaderState& state,
                                          const std::string& path) {
  CheckSharedLibrary(path);
  auto plugin = std::make_unique<DevicePlugin>();
  plugin->path = path;
  plugin->table = CheckPluginTable(path, Initialise(path));
  plugin->kernels = CheckPluginKernels(path, plugin->table);
  CheckIsNew(state, *plugin);
  plugin->device_count = CountDevices(path, plugin->table);
  plugin->kind = InternPlaceKind(plugin->table.device_type);
  SLUICE_ENFORCE(DeviceManager::Instance().Count(plugin->kind) == 0,
                 ErrorCode::kInvalidArgument, "plugin.kind_taken",
                 "plug-in {}: there are devices of type '{}' already", path,
                 plugin->kind);
  return plugin;
}

void Commit(LoaderState& state, std::unique_ptr<const DevicePlugin> plugin) {
  const DevicePlugin& added = *plugin;
  state.plugins.reserve(state.plugins.size() + 1);
  if (state.sink) state.sink(added);
  DeviceManager::Instance().AddKind(
      added.kind, added.device_count, [&added](int index) {
        return std::make_unique<PluginDevice>(added.table,
                                              PlaceKey(added.kind, index));
      });
  state.plugins.push_back(std::move(plugin));
}

}  // namespace

const DevicePlugin& LoadPlugin(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const std::string file = error ? path : real.string();
  LoaderState& state = State();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (const auto& plugin : state.plugins) {
    if (plugin->path == file) return *plugin;
  }
  Commit(state, Stage(state, file));
  return *state.plugins.back();
}

std::vector<const DevicePlugin*> LoadedPlugins() {
  LoaderState& state = State();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::vector<const DevicePlugin*> plugins;
  plugins.reserve(state.plugins.size());
  for (const auto& plugin : state.plugins) {
    plugins.push_back(plugin.get());
  }
  return plugins;
}

void SetPluginSink(PluginSink sink) {
  LoaderState& state = State();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (sink) {
    for (const auto& plugin : state.plugins) {
      sink(*plugin);
    }
  }
  state.sink = std::move(sink);
}

std::vector<std::string> PluginFolders() {
  std::vector<std::string> folders;
  const char* variable = std::getenv("SLUICE_PLUGIN_PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  const std::string library = LibraryFolder();
  if (!library.empty()) {
    folders.push_back((fs::path(library) / "sluice_plugins").string());
  }
  return folders;
}

std::string FindPlugin(std::string_view device_type) {
  for (const std::string& folder : PluginFolders()) {
    const fs::path file =
        fs::path(folder) / ("libsluice_" + std::string(device_type) + ".so");
    std::error_code error;
    if (fs::exists(file, error)) return file.string();
  }
  return "";
}

std::string DescribePluginSearch(std::string_view device_type) {
  const auto shown = [](std::string_view path) {  // whole, to be found
    std::string quoted;
    AppendJsonString(quoted, path);
    return path.size() <= 80 ? Shown(path) : quoted;
  };
  std::string folders;
  for (const std::string& folder : PluginFolders()) {
    folders += (folders.empty() ? "" : ", ") + shown(folder);
  }
  const char* path = std::getenv("SLUICE_PLUGIN_PATH");
  return Format("looked for libsluice_{}.so in {} (SLUICE_PLUGIN_PATH is {})",
                Shown(device_type), folders.empty() ? "no folder" : folders,
                path == nullptr ? "not set" : shown(path));
}

std::vector<std::string> PluginKinds() {
  constexpr std::string_view kPrefix = "libsluice_";
  std::set<std::string> kinds;
  for (const std::string& folder : PluginFolders()) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string stem = entry->path().stem().string();
      if (entry->path().extension() == ".so" && stem.starts_with(kPrefix)) {
        kinds.insert(stem.substr(kPrefix.size()));
      }
    }
  }
  return {kinds.begin(), kinds.end()};
}

void LoadAllDevices() {
  LoadModule("cuda");
  for (const std::string& kind : PluginKinds()) {
    try {
      LoadPluginOfKind(InternPlaceKind(kind));
    } catch (const Error&) {
      continue;
    }
  }
}

void LoadPluginOfKind(PlaceKind kind) {
  if (kind == PlaceKind::kCUDA) {
    LoadModule("cuda");
    return;
  }
  const std::string path = FindPlugin(ToString(kind));
  if (!path.empty()) LoadPlugin(path);
}

}  // namespace sluice
