#include "sluice/laboratory/records/record_sources.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice::framework {
namespace {

namespace fs = std::filesystem;

std::string OrEmpty(const char* variable) {
  return variable == nullptr ? "" : variable;
}

std::vector<fs::path> SystemFolders() {
  std::vector<fs::path> folders;
  const std::string variable = OrEmpty(std::getenv("SLUICE_RECORDS_PATH"));
  std::string_view rest = variable;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  const fs::path library = platform::LibraryFolder();
  if (library.empty()) return folders;
  folders.push_back(library / "sluice_records");
  // The library may be in lib, lib64, or lib/x86_64-linux-gnu below the prefix.
  folders.push_back(library.parent_path() / "share/sluice/records");
  folders.push_back(library.parent_path().parent_path() /
                    "share/sluice/records");
  return folders;
}

std::vector<std::string> SystemFiles() {
  std::vector<std::string> files;
  for (const fs::path& folder : SystemFolders()) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end;
         !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".jsonl") {
        found.push_back(entry->path().string());
      }
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace

RecordSources RecordSourcesOfEnvironment() {
  const std::string mode = OrEmpty(std::getenv("SLUICE_RECORDS"));
  if (mode.empty() || mode == "both") {
    return {.system = SystemFiles(), .user = UserRecordFile()};
  }
  if (mode == "system") return {.system = SystemFiles(), .user = ""};
  if (mode == "user") return {.system = {}, .user = UserRecordFile()};
  if (mode == "off") return {};
  SLUICE_ENFORCE(mode.find('/') != std::string::npos,
                 ErrorCode::kInvalidArgument, "records.mode",
                 "SLUICE_RECORDS is '{}', expected both, system, user, off, or "
                 "the path of a file with a '/' in it",
                 mode);
  return {.system = {}, .user = mode};
}

}  // namespace sluice::framework
