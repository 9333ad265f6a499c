#pragma once

#include <vector>

#include "tests/operators/harness/op_case.h"

// Conditional random fields computed over all paths, for the references of
// linear_chain_crf and crf_decoding.
namespace sluice::testing {

using CrfPath = std::vector<int64_t>;

inline double CrfPathScore(const Arrays& in, int64_t b, const CrfPath& path) {
  const Array& emission = in.at("Emission");
  const Array& transition = in.at("Transition");
  double score = transition(0, path[0]) + emission(b, 0, path[0]);
  for (size_t t = 1; t < path.size(); ++t) {
    score += transition(2 + path[t - 1], path[t]);
    score += emission(b, t, path[t]);
  }
  return score + transition(1, path.back());
}

inline int64_t CrfLength(const Arrays& in, int64_t b) {
  return static_cast<int64_t>(in.at("Length")(b));
}

// The right tags of sequence b.
inline CrfPath CrfLabels(const Arrays& in, int64_t b) {
  CrfPath path;
  for (int64_t t = 0; t < CrfLength(in, b); ++t) {
    path.push_back(static_cast<int64_t>(in.at("Label")(b, t)));
  }
  return path;
}

// Calls visit(path, score) for every path of sequence b, those with the
// smallest last tag first, then with the smallest tag before it, and so on.
template <typename Visit>
void ForEachCrfPath(const Arrays& in, int64_t b, const Visit& visit) {
  const int64_t tags = in.at("Emission").dims[2];
  CrfPath path(CrfLength(in, b), 0);
  for (;;) {
    visit(path, CrfPathScore(in, b, path));
    size_t t = 0;
    while (t < path.size() && ++path[t] == tags) {
      path[t++] = 0;
    }
    if (t == path.size()) return;
  }
}

// Emission, Transition, Length and Label of several sizes. Whole weights have
// exact sums, so that paths are equal or not whatever the order of adding.
inline std::vector<OpExample> CrfSequences(ExampleMaker& make,
                                           bool whole = false) {
  const auto values = [&](const DDim& dims) {
    return whole ? make.Integers(make.dtype(), dims, -4, 4) : make.Values(dims);
  };
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{2, 4, 3},
                           {3, 5, 2},
                           {1, 1, 1},
                           {2, 3, 1},
                           {5, 1, 4},
                           {1, 7, 2},
                           {0, 3, 2},
                           {61, 5, 3},
                           {3, 3, 9}}) {
    const int64_t batch = dims[0], positions = dims[1], tags = dims[2];
    const auto kInt = DType::kInt64;
    examples.push_back(
        {{{"Emission", values(dims)},
          {"Transition", values({tags + 2, tags})},
          {"Length", make.Integers(kInt, {batch}, 1, positions)},
          {"Label", make.Integers(kInt, {batch, positions}, 0, tags - 1)}},
         {}});
  }
  return examples;
}

}  // namespace sluice::testing
