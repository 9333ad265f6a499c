#include "sluice/platform/plugin/plugin_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <tuple>

#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_host.h"

namespace sluice {
namespace {

// The sizes of version 1's structs, which every plug-in has in full.
constexpr size_t kOldestTable =
    offsetof(SluiceDevicePlugin, kernels) + sizeof(SluiceDevicePlugin::kernels);
constexpr size_t kOldestKernel =
    offsetof(SluiceKernelDef, release) + sizeof(SluiceKernelDef::release);
// Larger than any future struct: a larger size is an error.
constexpr size_t kAbsurd = 1 << 16;
constexpr size_t kLongestName = 63;

bool IsName(const char* text) {
  if (text == nullptr) return false;
  const std::string_view name(text, strnlen(text, kLongestName + 1));
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kLongestName && lower(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return lower(c) || (c >= '0' && c <= '9') || c == '_';
         });
}

// For messages: shows null as "no name", and truncates long names.
std::string Quoted(const char* text) {
  if (text == nullptr) return "no name";
  return "'" + std::string(text, strnlen(text, kLongestName + 1)) + "'";
}

// Copies `given` into a struct of the host's own size, padded with zeros.
template <typename Struct>
Struct Completed(const Struct* given) {
  Struct complete{};
  std::memcpy(&complete, given, std::min(given->struct_size, sizeof(Struct)));
  complete.struct_size = sizeof(Struct);
  return complete;
}

void CheckRequired(const std::string& path, const SluiceDevicePlugin& table) {
  std::string missing;
  const auto require = [&](const char* name, bool there) {
    if (there) return;
    if (!missing.empty()) missing += ", ";
    missing += name;
  };
  require("device_count", table.device_count != nullptr);
  require("allocate", table.allocate != nullptr);
  require("deallocate", table.deallocate != nullptr);
  require("copy_to_device", table.copy_to_device != nullptr);
  require("copy_from_device", table.copy_from_device != nullptr);
  require("synchronise", table.synchronise != nullptr);
  SLUICE_ENFORCE(missing.empty(), ErrorCode::kInvalidArgument,
                 "plugin.required_callbacks",
                 "plug-in {}: expected all six required callbacks, got a table "
                 "without {}",
                 path, missing);
}

void CheckOptional(const std::string& path, const SluiceDevicePlugin& table) {
  const bool queues = table.create_queue != nullptr;
  SLUICE_ENFORCE(queues == (table.destroy_queue != nullptr),
                 ErrorCode::kInvalidArgument, "plugin.queue_callbacks",
                 "plug-in {}: expected create_queue and destroy_queue or "
                 "neither, got one of them",
                 path);
  const int events =
      (table.create_event != nullptr) + (table.record_event != nullptr) +
      (table.wait_event != nullptr) + (table.destroy_event != nullptr);
  SLUICE_ENFORCE(events == 0 || (events == 4 && queues),
                 ErrorCode::kInvalidArgument, "plugin.event_callbacks",
                 "plug-in {}: expected all four event callbacks with queues, "
                 "or none, got {} {} queues",
                 path, events, queues ? "with" : "without");
}

void CheckKernel(const std::string& path, const SluiceKernelDef& kernel) {
  SLUICE_ENFORCE(IsName(kernel.op) && IsName(kernel.variant),
                 ErrorCode::kInvalidArgument, "plugin.kernel_name",
                 "plug-in {}: a kernel needs an op and a variant, each a name "
                 "of [a-z][a-z0-9_]* with at most {} letters, got {} and {}",
                 path, kLongestName, Quoted(kernel.op), Quoted(kernel.variant));
  constexpr int kLastDType = kDTypeNumbers - 1;
  static_assert(SLUICE_UINT2 == kLastDType, "device_plugin.h has all dtypes");
  SLUICE_ENFORCE(kernel.dtype >= SLUICE_FLOAT32 && kernel.dtype <= kLastDType,
                 ErrorCode::kInvalidArgument, "plugin.kernel_dtype",
                 "plug-in {}: kernel {}/{}: expected a dtype from {} to {}, "
                 "got {}",
                 path, kernel.op, kernel.variant, int{SLUICE_FLOAT32},
                 kLastDType, kernel.dtype);
  SLUICE_ENFORCE(
      kernel.layout >= SLUICE_LAYOUT_ANY && kernel.layout <= SLUICE_LAYOUT_NHWC,
      ErrorCode::kInvalidArgument, "plugin.kernel_layout",
      "plug-in {}: kernel {}/{}: expected a layout from {} to {}, "
      "got {}",
      path, kernel.op, kernel.variant, int{SLUICE_LAYOUT_ANY},
      int{SLUICE_LAYOUT_NHWC}, kernel.layout);
  SLUICE_ENFORCE(kernel.compute != nullptr, ErrorCode::kInvalidArgument,
                 "plugin.kernel_compute",
                 "plug-in {}: kernel {}/{}: the required callback compute is "
                 "missing",
                 path, kernel.op, kernel.variant);
}

}  // namespace

SluiceDevicePlugin CheckPluginTable(const std::string& path,
                                    const SluiceDevicePlugin* given) {
  // Only struct_size and abi_version are at fixed positions in all versions.
  const SluiceHost& host = *PluginHost();
  SLUICE_ENFORCE(given->abi_version >= host.abi_oldest &&
                     given->abi_version <= host.abi_newest,
                 ErrorCode::kUnimplemented, "plugin.version",
                 "plug-in {}: expected plug-in ABI version {} to {}, got {}; "
                 "build the plug-in again with this Sluice's header",
                 path, host.abi_oldest, host.abi_newest, given->abi_version);
  SLUICE_ENFORCE(
      given->struct_size >= kOldestTable && given->struct_size <= kAbsurd,
      ErrorCode::kInvalidArgument, "plugin.struct_size",
      "plug-in {}: expected a table of at least {} bytes, got a "
      "struct_size of {}",
      path, kOldestTable, given->struct_size);
  const SluiceDevicePlugin table = Completed(given);
  SLUICE_ENFORCE(IsName(table.device_type), ErrorCode::kInvalidArgument,
                 "plugin.device_type",
                 "plug-in {}: expected a device type of [a-z][a-z0-9_]* with "
                 "at most {} letters, got {}",
                 path, kLongestName, Quoted(table.device_type));
  CheckRequired(path, table);
  CheckOptional(path, table);
  return table;
}

std::vector<SluiceKernelDef> CheckPluginKernels(
    const std::string& path, const SluiceDevicePlugin& table) {
  SLUICE_ENFORCE(table.kernel_count == 0 || table.kernels != nullptr,
                 ErrorCode::kInvalidArgument, "plugin.kernel_list",
                 "plug-in {}: expected a list of {} kernels, got null", path,
                 table.kernel_count);
  std::vector<SluiceKernelDef> kernels;
  std::set<std::tuple<std::string_view, int32_t, std::string_view>> keys;
  for (size_t i = 0; i < table.kernel_count; ++i) {
    const SluiceKernelDef* given = table.kernels[i];
    SLUICE_ENFORCE(given != nullptr && given->struct_size >= kOldestKernel &&
                       given->struct_size <= kAbsurd,
                   ErrorCode::kInvalidArgument, "plugin.kernel_size",
                   "plug-in {}: kernel {} of {}: expected a definition of at "
                   "least {} bytes, got {}",
                   path, i, table.kernel_count, kOldestKernel,
                   given == nullptr ? 0 : given->struct_size);
    kernels.push_back(Completed(given));
    const SluiceKernelDef& kernel = kernels.back();
    CheckKernel(path, kernel);
    const bool added =
        keys.emplace(kernel.op, kernel.dtype, kernel.variant).second;
    SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument,
                   "plugin.duplicate_kernel",
                   "plug-in {}: kernel {}/{} is registered twice for dtype {}; "
                   "kernels for two layouts are two variants",
                   path, kernel.op, kernel.variant, kernel.dtype);
  }
  return kernels;
}

}  // namespace sluice
