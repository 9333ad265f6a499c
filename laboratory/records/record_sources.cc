#include "sluice/laboratory/records/record_sources.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/costs/record_folders.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string OrEmpty(const char* variable) {
  return variable == nullptr ? "" : variable;
}

std::vector<std::string> SystemFiles() {
  std::vector<std::string> files;
  for (const fs::path& folder : RecordFolders()) {
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

}  // namespace sluice
