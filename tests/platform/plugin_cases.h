#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/testing/temp_folder.h"

#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice {

using testing::ReadFile;
using testing::TempFolder;

// Loads the bad plug-in (see bad_plugins/plugin.cc) with that mistake, from a
// copy, so that the system treats it as another library. A plug-in that works
// is loaded only once in a process.
inline const DevicePlugin& LoadBadPlugin(std::string_view name) {
  static const TempFolder folder;
  const std::string mistake(name);
  const std::string path = folder.File(mistake + ".so");
  if (!std::filesystem::exists(path)) {
    folder.Write(mistake + ".so", ReadFile(SLUICE_BAD_PLUGIN));
  }
  setenv("SLUICE_BAD_PLUGIN", mistake.c_str(), 1);
  return LoadPlugin(path);
}

}  // namespace sluice
