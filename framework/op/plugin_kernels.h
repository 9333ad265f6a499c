#pragma once

#include <string>

#include "sluice/platform/export.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice {

class Registry;

// Loads the device plug-in at `path`; its devices and kernels can then be used.
// Raises what LoadPlugin raises; then nothing has changed. Plug-ins
// in SLUICE_PLUGIN_PATH, or in sluice_plugins beside libsluice.so, need no such
// call: they are loaded when their places are first used.
SLUICE_API const DevicePlugin& LoadDevicePlugin(const std::string& path);

// Adds all kernels of a plug-in, or raises InvalidArgument and adds none.
SLUICE_API void AddPluginKernels(const DevicePlugin& plugin,
                                 Registry& registry);

}  // namespace sluice
