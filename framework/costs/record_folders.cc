#include "sluice/framework/costs/record_folders.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "sluice/platform/plugin/kernel_module.h"

namespace sluice {

namespace fs = std::filesystem;

std::vector<fs::path> RecordFolders() {
  std::vector<fs::path> folders;
  const char* variable = std::getenv("SLUICE_RECORDS_PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  const fs::path library = LibraryFolder();
  if (library.empty()) return folders;
  folders.push_back(library / "sluice_records");
  // The library may be in lib, lib64, or lib/x86_64-linux-gnu below the prefix.
  folders.push_back(library.parent_path() / "share/sluice/records");
  folders.push_back(library.parent_path().parent_path() /
                    "share/sluice/records");
  return folders;
}

}  // namespace sluice
