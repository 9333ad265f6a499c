#pragma once

#include <string>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// The files that records are read from, and the one for writing.
struct RecordSources {
  std::vector<std::string> system;  // read only; may be empty
  std::string user;                 // "" for none
};

// Sources from the environment. SLUICE_RECORDS is "both" (default), "system",
// "user", "off", or the path of a file, with a '/', that replaces both. The
// user's file is $XDG_CACHE_HOME/sluice/records.jsonl, or
// ~/.cache/sluice/records.jsonl. System files are all *.jsonl, by name, of
// RecordFolders(). Raises InvalidArgument for another SLUICE_RECORDS.
SLUICE_API RecordSources RecordSourcesOfEnvironment();

}  // namespace sluice
