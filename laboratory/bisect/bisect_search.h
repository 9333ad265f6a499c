#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sluice/platform/export.h"

// The search algorithm of Bisect, without kernels. It tries ranges of suspects
// to find those that make a difference.
namespace sluice {

// Result of trying suspects [begin, end).
struct RangeTrial {
  bool differs = false;
  // The suspect that seems to cause the difference, if known.
  std::optional<size_t> suspect{};
  bool tried = true;  // false: the budget ended before
};

struct RangeSearch {
  size_t suspects = 0;
  std::function<RangeTrial(size_t begin, size_t end)> attempt;
  // RangeTrial::suspect is the first that differs in the range, so suspects
  // before it need not be tried again.
  bool ordered = true;
  int most_trials = 1000;
};

// Suspects [begin, end) that make a difference. If there are several, none does
// so alone.
struct FoundRange {
  size_t begin = 0;
  size_t end = 0;
};

struct RangeSearchResult {
  std::vector<FoundRange> found;  // in order
  int trials = 0;
  bool complete = true;  // most_trials sufficed
};

// Tries all suspects. Then tries the suspect that the trial named, alone, and
// then the rest. If none was named, or it makes no difference alone, tries both
// halves. For one faulty suspect of 200 this takes 3 trials if always named
// correctly, and 2 log2(200) + 1 if never named. Raises what `attempt` raises.
SLUICE_API RangeSearchResult Search(const RangeSearch& search);

}  // namespace sluice
