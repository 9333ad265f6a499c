#include "sluice/laboratory/measure/order_statistics.h"

#include <algorithm>
#include <cmath>

namespace sluice {

double SortedMedian(std::span<const double> sorted) {
  return SortedQuantile(sorted, 0.5);
}

double SortedQuantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const double place =
      std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

size_t MedianIntervalRank(size_t count, double confidence) {
  const double n = static_cast<double>(count);
  const double tail = (1 - confidence) / 2;
  // Uses logarithms because 2^-n underflows a double for large n.
  double log_share = -n * std::log(2.0);  // of P(B = 0)
  double below = std::exp(log_share);     // P(B <= rank - 1)
  size_t rank = 0;
  while (below <= tail && 2 * rank < count) {
    ++rank;
    const double k = static_cast<double>(rank);
    log_share += std::log((n - k + 1) / k);
    below += std::exp(log_share);
  }
  return std::max<size_t>(rank, 1);
}

Interval MedianInterval(std::span<const double> sorted, double confidence) {
  if (sorted.empty()) return {};
  const size_t rank = MedianIntervalRank(sorted.size(), confidence);
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

}  // namespace sluice
