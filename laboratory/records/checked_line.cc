#include "sluice/laboratory/records/checked_line.h"

#include <cstddef>

#include "sluice/framework/files/checksum.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

constexpr std::string_view kBeforeVersion = R"({"v":)";
constexpr std::string_view kBeforeSum = R"(,"sum":")";
constexpr std::string_view kAfterSum = R"(",)";
constexpr size_t kSumDigits = 16;
constexpr size_t kHeadSize = kBeforeVersion.size() + 1 + kBeforeSum.size() +
                             kSumDigits + kAfterSum.size();
static_assert(kRecordFormat < 10);

// All text before the members of the object.
std::string Head(std::string_view members) {
  return Format(R"({}{}{}{:016x}{})", kBeforeVersion, kRecordFormat, kBeforeSum,
                Checksum(members.data(), members.size()), kAfterSum);
}

bool HasOtherVersion(std::string_view line) {
  if (!line.starts_with(kBeforeVersion)) return false;
  line.remove_prefix(kBeforeVersion.size());
  const size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos &&
         line.substr(digits).starts_with(kBeforeSum) &&
         line.substr(0, digits) != std::to_string(kRecordFormat);
}

}  // namespace

std::string SealLine(std::string_view object) {
  const std::string_view members = object.substr(1);
  std::string line = Head(members);
  line += members;
  line += '\n';
  return line;
}

LineState CheckLine(std::string_view line) {
  if (HasOtherVersion(line)) return LineState::kOtherVersion;
  if (line.size() <= kHeadSize) return LineState::kDamaged;
  return line.starts_with(Head(line.substr(kHeadSize))) ? LineState::kWhole
                                                        : LineState::kDamaged;
}

std::string ObjectOf(std::string_view line) {
  std::string object = "{";
  object += line.substr(kHeadSize);
  return object;
}

}  // namespace sluice
