#include <algorithm>
#include <numeric>

#include "sluice/operators/math/recurrent/recurrent.h"

namespace sluice {

RecurrentSteps::RecurrentSteps(const Sequences& sequences)
    : sequences_(sequences), order_(static_cast<size_t>(sequences.count)) {
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
    return sequences.length(a) > sequences.length(b);
  });
  lengths_.reserve(order_.size());
  for (const int64_t b : order_) {
    lengths_.push_back(static_cast<int32_t>(sequences.length(b)));
  }
  const int32_t longest = lengths_.empty() ? 0 : lengths_[0];
  first_.reserve(static_cast<size_t>(longest) + 1);
  first_.push_back(0);
  auto slots = static_cast<int64_t>(lengths_.size());
  for (int32_t t = 0; t < longest; ++t) {
    while (lengths_[static_cast<size_t>(slots - 1)] <= t) {
      --slots;
    }
    first_.push_back(first_.back() + slots);
  }
}

}  // namespace sluice
