#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// Returns the size of the first UTF-8 sequence of `text` in bytes, or 0 if it
// is invalid (Unicode 15, table 3-7).
SLUICE_API size_t Utf8SequenceLength(std::string_view text);

SLUICE_API bool IsUtf8(std::string_view text);

// Returns the longest prefix of `text` of at most `bytes` bytes that does not
// end inside of a UTF-8 sequence.
SLUICE_API std::string_view Utf8Prefix(std::string_view text, size_t bytes);

// Formats a user's text for messages: unchanged if it is up to 80 printable
// bytes of UTF-8; else in double quotes, with control characters and invalid
// bytes as \xNN, truncated after 80 bytes with its length appended.
SLUICE_API std::string Shown(std::string_view text);

// Appends `text` as a JSON string, quotes included. Invalid UTF-8 becomes
// U+FFFD, so that the result is always valid.
SLUICE_API void AppendJsonString(std::string& json, std::string_view text);

}  // namespace sluice
