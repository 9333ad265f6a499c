#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sluice/platform/export.h"

// Statistics without assumptions about the distribution of the values; times of
// runs follow no known one.
namespace sluice {

struct Interval {
  double low = 0;
  double high = 0;
};

// The middle value, or the mean of the two middle values; 0 if empty. `sorted`
// is ascending.
SLUICE_API double SortedMedian(std::span<const double> sorted);

// The quantile `share` (0 to 1) of the sorted values, linearly interpolated; 0
// if empty.
SLUICE_API double SortedQuantile(std::span<const double> sorted, double share);

// The rank k, from 1, for which the k-th smallest and the k-th largest of
// `count` independent values enclose the median of their distribution with at
// least this confidence (0 to 1), as closely as possible: the largest k with
// P(B <= k - 1) <= (1 - confidence) / 2, where B is binomial with `count`
// trials of 1/2 (David and Nagaraja, Order Statistics, 7.1). For too few values
// it is 1: the whole range, whose confidence is 1 - 2^(1 - count).
SLUICE_API size_t MedianIntervalRank(size_t count, double confidence);

// The confidence interval of the median of ascending values; {0, 0} if empty.
SLUICE_API Interval MedianInterval(std::span<const double> sorted,
                                   double confidence);

}  // namespace sluice
