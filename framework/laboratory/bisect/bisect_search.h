#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sluice/platform/export.h"

// The search behind Bisect, without kernels: which of many suspects make a
// difference, found by trying ranges of them.
namespace sluice::framework {

// What trying suspects [begin, end) showed.
struct RangeTrial {
  bool differs = false;
  // Where the difference seems to come from; nothing if that is not known.
  std::optional<size_t> suspect{};
};

struct RangeSearch {
  size_t suspects = 0;
  std::function<RangeTrial(size_t begin, size_t end)> attempt;
  // RangeTrial::suspect is where the range differs first: what comes before it
  // need not be tried again.
  bool ordered = true;
  int most_trials = 1000;
};

// Suspects [begin, end) that make a difference; where there are several, none
// of them does so alone.
struct FoundRange {
  size_t begin = 0;
  size_t end = 0;
};

struct RangeSearchResult {
  std::vector<FoundRange> found;  // in order
  int trials = 0;
  bool complete = true;  // most_trials sufficed
};

// Tries all of them; then the one that is named, by itself, and what is left;
// where it makes no difference alone or none is named, both halves. With one
// suspect of 200 that is always named rightly that takes 3 trials, where none
// is named 2 log2(200) + 1. What it raises is what `attempt` raises.
SLUICE_API RangeSearchResult Search(const RangeSearch& search);

}  // namespace sluice::framework
