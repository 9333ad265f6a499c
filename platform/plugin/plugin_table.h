#pragma once

#include <string>
#include <vector>

#include "sluice/platform/device_plugin.h"
#include "sluice/platform/export.h"

namespace sluice {

// Checks the table that a plug-in returned and completes it: members beyond the
// plug-in's own struct_size are null. Raises InvalidArgument, or Unimplemented
// for a version outside the host's range; errors name the file at `path`.
SLUICE_API SluiceDevicePlugin CheckPluginTable(const std::string& path,
                                               const SluiceDevicePlugin* given);

// Returns the completed kernels of a checked table; all are well formed and no
// two are equal. Raises InvalidArgument.
SLUICE_API std::vector<SluiceKernelDef> CheckPluginKernels(
    const std::string& path, const SluiceDevicePlugin& table);

}  // namespace sluice
