#include "sluice/framework/op/near_names.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

// Counts insertions, deletions, replacements and swaps of neighbours; no letter
// is in two of these (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before;  // the row before `last`
  std::vector<size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

}  // namespace

std::string SuggestNames(std::string_view name,
                         const std::vector<std::string>& names) {
  constexpr size_t kShortList = 12;
  constexpr size_t kLongest = 256;  // comparing megabytes takes hours
  constexpr size_t kMost = 4;
  std::vector<std::pair<size_t, std::string>> near;  // by distance
  for (const std::string& candidate : names) {
    const size_t allowed = std::max<size_t>(1, name.size() / 3);
    // The difference in length alone exceeds the distance.
    if (name.size() > kLongest || name.size() > candidate.size() + allowed ||
        candidate.size() > name.size() + allowed) {
      continue;
    }
    const size_t distance = EditDistance(name, candidate);
    // At a distance of its length, nothing of the name is left.
    if (distance > allowed || distance >= name.size()) continue;
    near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) {
    return a.first < b.first;
  });
  if (near.size() > kMost) near.resize(kMost);
  std::string text;
  for (const auto& [distance, candidate] : near) {
    text += (text.empty() ? "; did you mean " : " or ") + candidate;
  }
  if (!text.empty()) return text + "?";
  if (names.empty() || names.size() > kShortList) return text;
  for (const std::string& candidate : names) {
    text += (text.empty() ? "; there are " : ", ") + candidate;
  }
  return text;
}

std::string NoOperator(std::string_view op,
                       const std::vector<std::string>& ops) {
  return Format(
      "there is no operator {}{} (an op of your own needs its library "
      "loaded or registered first)",
      Shown(op), SuggestNames(op, ops));
}

std::string Lower(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace sluice
