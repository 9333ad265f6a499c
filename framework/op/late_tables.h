#pragma once

#include "sluice/platform/export.h"

namespace sluice {

class Registry;

// Calls `add`, a function of REGISTER_TABLE, whose operators are added when
// they are first looked up: a process needs few of them. What their functions
// refer to must be there until then. `version` and `family`: see
// Registry::AddFrom.
SLUICE_API void AddTableLater(Registry& registry,
                              const char* version,
                              const char* family,
                              void (*add)(Registry& registry));

}  // namespace sluice
