#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice::platform {

// Appends `text` as a JSON string, quotes included. What is not UTF-8 becomes
// U+FFFD, so that the result always is.
SLUICE_API void AppendJsonString(std::string& json, std::string_view text);

}  // namespace sluice::platform
