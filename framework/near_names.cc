#include "sluice/framework/near_names.h"

#include <algorithm>
#include <numeric>

namespace sluice::framework {

namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string SuggestNames(std::string_view name,
                         const std::vector<std::string>& names) {
  constexpr size_t kShortList = 12;
  std::string text;
  for (const std::string& candidate : names) {
    const size_t allowed = std::max<size_t>(1, name.size() / 3);
    const size_t distance = EditDistance(name, candidate);
    // At a distance of its whole length, nothing of a name is left.
    if (distance > allowed || distance >= name.size()) continue;
    text += (text.empty() ? "; did you mean " : " or ") + candidate;
  }
  if (!text.empty()) return text + "?";
  if (names.empty() || names.size() > kShortList) return text;
  for (const std::string& candidate : names) {
    text += (text.empty() ? "; there are " : ", ") + candidate;
  }
  return text;
}

}  // namespace sluice::framework
