#pragma once

#include <string>

#include "sluice/platform/export.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::framework {

class Registry;

// Loads the device plug-in at `path`: its devices and its kernels can be used
// as soon as it returns. Raises what platform::LoadPlugin raises; then nothing
// has changed. Plug-ins in SLUICE_PLUGIN_PATH, or in sluice_plugins beside
// libsluice.so, need not be loaded so: the first use of their places does.
SLUICE_API const platform::DevicePlugin& LoadDevicePlugin(
    const std::string& path);

// Adds all kernels of a plug-in, or raises InvalidArgument and adds none.
SLUICE_API void AddPluginKernels(const platform::DevicePlugin& plugin,
                                 Registry& registry);

}  // namespace sluice::framework
