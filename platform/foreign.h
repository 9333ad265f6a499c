#pragma once

#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// In a catch block around code of users: rethrows an Error, std::bad_alloc and
// the end of a thread. All else becomes Internal, "<whose> raised "text"".
[[noreturn]] SLUICE_API void RethrowForeign(std::string_view whose);

}  // namespace sluice
