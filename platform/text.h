#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice::platform {

// Bytes of the UTF-8 sequence that `text` begins with, or 0 if it is none
// (Unicode 15, table 3-7).
SLUICE_API size_t Utf8SequenceLength(std::string_view text);

SLUICE_API bool IsUtf8(std::string_view text);

// The longest beginning of `text` with at most so many bytes that does not end
// inside of a UTF-8 sequence.
SLUICE_API std::string_view Utf8Prefix(std::string_view text, size_t bytes);

// Text that somebody passed, as messages show it: unchanged if it is up to 80
// printable bytes of UTF-8; else in double quotes, with control characters and
// invalid bytes as \xNN, and cut after 80 bytes with its length after it.
SLUICE_API std::string Shown(std::string_view text);

// Appends `text` as a JSON string, quotes included. What is not UTF-8 becomes
// U+FFFD, so that the result always is.
SLUICE_API void AppendJsonString(std::string& json, std::string_view text);

}  // namespace sluice::platform
