#pragma once

#include <cstdint>

namespace sluice {

// The doubles of a row that holds a number for each tag: whole vectors.
inline int64_t ViterbiStride(int64_t tags) {
  constexpr int64_t kMostLanes = 8;
  return (tags + kMostLanes - 1) / kMostLanes * kMostLanes;
}

// One position of Viterbi's algorithm. Rows have ViterbiStride(tags) elements;
// what follows the tags has no meaning, and may be written.
template <typename T>
struct ViterbiStepArgs {
  int64_t tags = 0;
  const double* scores = nullptr;  // of the position before
  const double* pairs = nullptr;   // [tags, stride], from and to
  const T* emission = nullptr;     // [tags]
  double* next = nullptr;
  int32_t* from = nullptr;
};

// next[j] = the maximum over i of scores[i] + pairs[i, j], plus emission[j],
// and from[j] = the first such i. NaN is larger than nothing, and nothing is
// larger than it. The largest of all emissions and of all scores is subtracted,
// if it is finite. Defined for float and double.
template <typename T>
void ViterbiStep(const ViterbiStepArgs<T>& args);

}  // namespace sluice
