#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::platform {

// Files for one test, deleted at its end. A library that was loaded from them
// stays loaded.
class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "sluice_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string File(const std::string& name) const {
    return (path_ / name).string();
  }

  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(File(name), std::ios::binary) << bytes;
    return File(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Loads the bad plug-in (see bad_plugins/plugin.cc) making that mistake, from a
// copy of its own, so that the system takes it for another library. Asked for
// again in the same process, a plug-in that works is the same one.
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

}  // namespace sluice::platform
