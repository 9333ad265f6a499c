#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sluice/platform/export.h"

// Statistics that need no assumption on how the values are distributed, as
// times of runs are not.
namespace sluice::framework {

struct Interval {
  double low = 0;
  double high = 0;
};

// The middle value, or the mean of the two in the middle; 0 of nothing.
// `sorted` ascends.
SLUICE_API double SortedMedian(std::span<const double> sorted);

// What lies at `share` (0 to 1) of the sorted values, linear between two of
// them; 0 of nothing.
SLUICE_API double SortedQuantile(std::span<const double> sorted, double share);

// The rank k, from 1 on, for which the k-th smallest and the k-th largest of
// `count` independent values enclose the median of their distribution with at
// least this confidence (0 to 1), and as closely as possible: the largest k
// with P(B <= k - 1) <= (1 - confidence) / 2, where B is binomial with `count`
// trials of 1/2 (David and Nagaraja, Order Statistics, 7.1). Where there are
// too few values it is 1, the whole range, which has the confidence
// 1 - 2^(1 - count).
SLUICE_API size_t MedianIntervalRank(size_t count, double confidence);

// That interval of values that ascend; {0, 0} of nothing.
SLUICE_API Interval MedianInterval(std::span<const double> sorted,
                                   double confidence);

}  // namespace sluice::framework
