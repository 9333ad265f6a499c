#pragma once

#include <string>
#include <vector>

#include "sluice/platform/device_plugin.h"
#include "sluice/platform/export.h"

namespace sluice::platform {

// The device table that a plug-in returned, complete: members beyond the
// plug-in's own struct_size are null. Raises InvalidArgument, or Unimplemented
// for a version outside the host's range, naming the file at `path`.
SLUICE_API SluiceDevicePlugin CheckPluginTable(const std::string& path,
                                               const SluiceDevicePlugin* given);

// The kernels of a checked table, complete likewise, all different and well
// formed. Raises InvalidArgument.
SLUICE_API std::vector<SluiceKernelDef> CheckPluginKernels(
    const std::string& path, const SluiceDevicePlugin& table);

}  // namespace sluice::platform
