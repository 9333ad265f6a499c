#pragma once

#include <filesystem>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// The folders with what came with Sluice about kernels and machines, the first
// ones first: those of SLUICE_RECORDS_PATH (separated by colons),
// sluice_records beside libsluice.so, and share/sluice/records of the
// installation prefix.
SLUICE_API std::vector<std::filesystem::path> RecordFolders();

}  // namespace sluice
