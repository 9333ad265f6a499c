#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// Returns the contents of the first ELF note of that name and type in the
// shared library at `path`, up to its first zero; "" when it has none. Segments
// of more than 1 MiB are skipped. The library is not loaded. Raises what
// CheckSharedLibrary raises.
SLUICE_API std::string ReadLibraryNote(const std::string& path,
                                       std::string_view name,
                                       uint32_t type);

}  // namespace sluice
