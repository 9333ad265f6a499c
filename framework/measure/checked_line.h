#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// One line of a record file: a JSON object that begins with the version of the
// format and a checksum of all that follows,
//   {"v":1,"sum":"0123456789abcdef","kind":"record",...}
// so that a line that was cut off, overwritten or changed in a single bit is
// never read as something else. Functions here may be called from any thread.
namespace sluice::framework {

inline constexpr int kRecordFormat = 1;

enum class LineState : unsigned char {
  kWhole,
  kDamaged,
  kOtherVersion,  // of the format: written by another version of Sluice
};

// The line, with its newline, of a JSON object that has members and no
// newline: {"kind":...}.
SLUICE_API std::string SealLine(std::string_view object);

// Whether a line (without its newline) is whole. What its object says is not
// looked at.
LineState CheckLine(std::string_view line);

// The JSON object that was sealed into a whole line.
std::string ObjectOf(std::string_view line);

}  // namespace sluice::framework
