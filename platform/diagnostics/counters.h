#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// Named counters of the process. Optional modules, which nobody links, publish
// here what users and tests want to read ("onednn.cache_hits"). All functions
// may be called from any thread.
namespace sluice::platform {

// The counter of this name, 0 when it is asked for first. Never destroyed, so
// that hot code may keep the reference.
SLUICE_API std::atomic<int64_t>& Counter(std::string_view name);

// Every counter that was ever asked for.
SLUICE_API std::map<std::string, int64_t> Counters();

}  // namespace sluice::platform
