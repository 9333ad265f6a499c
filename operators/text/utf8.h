#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// The number of code points; -1 if the text is no UTF-8.
SLUICE_API int64_t CountCodePoints(std::string_view text);

// Maps each code point to one of upper or lower case, as the C library does in
// any language but Turkish and its like. `text` must be UTF-8. Raises
// Unimplemented where the system has no locale C.UTF-8.
std::string MapCase(std::string_view text, bool upper);

}  // namespace sluice
