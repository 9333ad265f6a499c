#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

// Shared by the kernels of linear_chain_crf and crf_decoding.
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

}  // namespace sluice
