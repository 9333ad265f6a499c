#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/platform/device_plugin.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

// A plug-in that passed every check. Members that the plug-in was built without
// are null in the tables. Lives as long as the process and never changes.
struct DevicePlugin {
  std::string path;  // absolute, without links
  PlaceKind kind = PlaceKind::kFirstCustom;
  int device_count = 0;
  SluiceDevicePlugin table{};
  std::vector<SluiceKernelDef> kernels;
};

// Loads the plug-in at `path`, checks it and adds its devices and, through the
// sink, its kernels. A loaded file is not loaded again. Thread-safe. If it
// raises, nothing has changed and the same or another file can be loaded next:
//   NotFound            no such file
//   DataLoss            a truncated file
//   InvalidArgument     no plug-in, an incomplete or contradictory table, a
//                       device type or kernel that is there already
//   Unimplemented       a version of the ABI that this build does not support
//   what the plug-in reports, or Internal when it throws
// The system's loader keeps a refused file in memory.
SLUICE_API const DevicePlugin& LoadPlugin(const std::string& path);

SLUICE_API std::vector<const DevicePlugin*> LoadedPlugins();

// Receives the kernels: called for every plug-in, immediately for those already
// loaded, and as the last check of later ones. May refuse a plug-in by raising
// before it has changed anything.
using PluginSink = std::function<void(const DevicePlugin& plugin)>;
SLUICE_API void SetPluginSink(PluginSink sink);

// Returns the folders that are searched for plug-ins: those of the environment
// variable SLUICE_PLUGIN_PATH (separated by colons), then `sluice_plugins`
// beside libsluice.so.
SLUICE_API std::vector<std::string> PluginFolders();

// Returns the first `libsluice_<device_type>.so` in those folders, or "".
SLUICE_API std::string FindPlugin(std::string_view device_type);

// Describes the search of FindPlugin: "looked for libsluice_npu.so in /a, /b
// (SLUICE_PLUGIN_PATH is not set)".
SLUICE_API std::string DescribePluginSearch(std::string_view device_type);

// Returns the device kinds that have a plug-in in those folders, in order.
SLUICE_API std::vector<std::string> PluginKinds();

// Loads the plug-in that FindPlugin finds for the kind, if any. This is the
// DeviceManager's KindLoader.
SLUICE_API void LoadPluginOfKind(PlaceKind kind);

// Loads the CUDA module and the plug-ins of all kinds, so that their kernels
// are registered; no device is used. Modules that cannot be loaded are skipped.
SLUICE_API void LoadAllDevices();

}  // namespace sluice
