#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

// Shared by the kernels of linear_chain_crf and crf_decoding.
//
// A linear-chain conditional random field, for one sequence at a time. It works
// with logarithms, so that no weight is too large or too small. A path y of
// tags has the score start[y0] + e[0, y0] + pair[y0, y1] + e[1, y1] + ... +
// end[y_last] and the probability exp(score) / Z. T is float or double; sums
// are in double.
namespace sluice {

// The sizes [B, T, N], which the shape functions have checked. Of ragged rows T
// is their number with padding.
struct CrfSizes {
  CrfSizes() = default;
  explicit CrfSizes(const KernelQuery& query)
      : ragged(!query.op.Input("Offsets").empty()) {
    const DDim& emission = query.inputs[0];
    batch = ragged ? InputDims(query, "Offsets")[0] - 1 : emission[0];
    positions = emission[ragged ? 0 : 1];
    tags = emission[ragged ? 1 : 2];
  }
  static const DDim& InputDims(const KernelQuery& query,
                               std::string_view name) {
    size_t at = 0;
    for (const auto& [argument, vars] : query.op.inputs) {
      if (argument == name) break;
      at += vars.size();
    }
    return query.inputs[at];
  }
  int64_t batch = 0, positions = 0, tags = 0;
  bool ragged = false;

  int64_t transition_size() const { return (tags + 2) * tags; }
};

// Where sequences are in the rows [B * T] or [T].
struct CrfSequences {
  int64_t positions = 0;
  const int64_t* lengths = nullptr;
  Sequences cut;  // where there are no lengths

  int64_t first(int64_t b) const {
    return lengths == nullptr ? cut.begin(b) : b * positions;
  }
  int64_t length(int64_t b) const {
    return lengths == nullptr ? cut.length(b) : lengths[b];
  }
  // The positions up to the next sequence's.
  int64_t room(int64_t b) const {
    return lengths == nullptr ? cut.length(b) : positions;
  }
};

// Checks and returns input Length or Offsets.
inline CrfSequences CrfSequencesOf(const OpKernelContext& context,
                                   const CrfSizes& sizes) {
  if (sizes.ragged) {
    return {
        sizes.positions, nullptr,
        CheckedSequences(context, context.Input("Offsets"), sizes.positions)};
  }
  const int64_t* lengths = context.Input("Length").data<int64_t>();
  for (int64_t b = 0; b < sizes.batch; ++b) {
    SLUICE_ENFORCE(lengths[b] >= 0 && lengths[b] <= sizes.positions,
                   ErrorCode::kOutOfRange, "crf.length",
                   "{}: input Length[{}] = {}; expected 0 to {}, the positions "
                   "of Emission",
                   context.op(), b, lengths[b], sizes.positions);
  }
  return {sizes.positions, lengths, {}};
}

// Checks input Label up to the length of each sequence, and returns it.
inline const int64_t* CrfLabelsOf(const OpKernelContext& context,
                                  const CrfSizes& sizes,
                                  const CrfSequences& sequences) {
  const int64_t* labels = context.Input("Label").data<int64_t>();
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t t = 0; t < sequences.length(b); ++t) {
      const int64_t label = labels[sequences.first(b) + t];
      SLUICE_ENFORCE(label >= 0 && label < sizes.tags, ErrorCode::kOutOfRange,
                     "crf.label",
                     "{}: input Label[{}, {}] = {}; expected 0 to {}",
                     context.op(), b, t, label, sizes.tags - 1);
    }
  }
  return labels;
}

// Calls work(slot, b) for each sequence. Calls for the same slot never overlap.
template <typename Work>
void ForEachSequence(int64_t slots, int64_t batch, const Work& work) {
  ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      for (int64_t b = slot * batch / slots; b < (slot + 1) * batch / slots;
           ++b) {
        work(slot, b);
      }
    }
  });
}

// Returns the largest weight, or 0 if that is not finite.
template <typename T>
double LargestWeight(const T* weights, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<double>(weights[i]));
  }
  return std::isfinite(largest) ? largest : 0;
}

// The weights that all sequences share: rows start, end, then pair[from][to],
// each of `tags` weights. Every path has one start, one end and equally many
// pairs, so that subtracting a number from all of a kind changes nothing. The
// weights are relative to their largest; an offset then costs no digits.
template <typename T>
class CrfWeights {
 public:
  CrfWeights(const T* transition, int64_t tags)
      : transition_(transition),
        tags_(tags),
        start_(LargestWeight(transition, tags)),
        end_(LargestWeight(transition + tags, tags)),
        pair_(LargestWeight(transition + 2 * tags, tags * tags)) {}

  int64_t tags() const { return tags_; }
  double start(int64_t tag) const {
    return static_cast<double>(transition_[tag]) - start_;
  }
  double end(int64_t tag) const {
    return static_cast<double>(transition_[tags_ + tag]) - end_;
  }
  double pair(int64_t from, int64_t to) const {
    return static_cast<double>(transition_[(2 + from) * tags_ + to]) - pair_;
  }

 private:
  const T* transition_;
  int64_t tags_;
  double start_, end_, pair_;
};

// The emissions of one position, relative to their largest.
template <typename T>
class CrfEmissions {
 public:
  CrfEmissions(const T* emission, int64_t tags)
      : emission_(emission), largest_(LargestWeight(emission, tags)) {}
  double operator[](int64_t tag) const {
    return static_cast<double>(emission_[tag]) - largest_;
  }

 private:
  const T* emission_;
  double largest_;
};

// Subtracts the largest (0 if it is not finite) from all, and returns it.
inline double CenterWeights(double* x, int64_t count) {
  const double largest = LargestWeight(x, count);
  for (int64_t i = 0; i < count; ++i) {
    x[i] -= largest;
  }
  return largest;
}

// Computes the log weights of all paths that end in each tag: `to` plus the
// returned maximum. The maximum leaves out the logarithms of sums.
template <typename T>
double FirstAlpha(const CrfWeights<T>& weights, const T* emission, double* to) {
  const CrfEmissions<T> emissions(emission, weights.tags());
  for (int64_t j = 0; j < weights.tags(); ++j) {
    to[j] = weights.start(j) + emissions[j];
  }
  return CenterWeights(to, weights.tags());
}

}  // namespace sluice
