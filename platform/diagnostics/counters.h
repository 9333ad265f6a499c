#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// Named counters of the process. Optional modules, which are not linked,
// publish values for users and tests here ("onednn.cache_hits"). All functions
// may be called from any thread.
namespace sluice {

// Returns the counter of this name; a new one is 0. It is never destroyed, so
// hot code may keep the reference.
SLUICE_API std::atomic<int64_t>& Counter(std::string_view name);

// Returns all counters that exist so far.
SLUICE_API std::map<std::string, int64_t> Counters();

}  // namespace sluice
