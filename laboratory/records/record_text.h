#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// A text of a record's key with its 128-bit hash, so that many lookups hash
// each text once. Texts with equal hashes count as equal; for a million
// different ones the probability of a collision is at most 10^-7. It does not
// own the text.
struct SLUICE_API RecordText {
  RecordText() = default;
  // NOLINTBEGIN(google-explicit-constructor): it is a string_view that is
  // hashed.
  RecordText(std::string_view from);
  RecordText(const std::string& from) : RecordText(std::string_view(from)) {}
  RecordText(const char* from) : RecordText(std::string_view(from)) {}
  // NOLINTEND(google-explicit-constructor)

  std::string_view text;
  uint64_t low = 0;
  uint64_t high = 0;
};

}  // namespace sluice
