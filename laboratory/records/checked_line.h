#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// One line of a record file: a JSON object that begins with the version of the
// format and a checksum of all that follows,
//   {"v":1,"sum":"0123456789abcdef","kind":"record",...}
// A line that was truncated, overwritten or changed in a single bit is
// rejected. Functions here may be called from any thread.
namespace sluice {

inline constexpr int kRecordFormat = 1;

enum class LineState : unsigned char {
  kWhole,
  kDamaged,
  kOtherVersion,  // from another version of Sluice
};

// Seals a JSON object ({"kind":...}, with members and without newline) into a
// line that ends with a newline.
SLUICE_API std::string SealLine(std::string_view object);

// Checks whether a line (without its newline) is intact. Does not parse the
// object.
LineState CheckLine(std::string_view line);

// Returns the JSON object of an intact line.
std::string ObjectOf(std::string_view line);

}  // namespace sluice
