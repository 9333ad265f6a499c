#pragma once

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

// Shared by the kernels of linear_chain_crf and crf_decoding.
namespace sluice {

// The sizes [B, T, N], which the shape functions have checked.
struct CrfSizes {
  CrfSizes() = default;
  explicit CrfSizes(const DDim& emission)
      : batch(emission[0]), positions(emission[1]), tags(emission[2]) {}
  int64_t batch = 0, positions = 0, tags = 0;

  int64_t transition_size() const { return (tags + 2) * tags; }
};

// Checks and returns input Length.
inline const int64_t* CrfLengthsOf(const OpKernelContext& context,
                                   const CrfSizes& sizes) {
  const int64_t* lengths = context.Input("Length").data<int64_t>();
  for (int64_t b = 0; b < sizes.batch; ++b) {
    SLUICE_ENFORCE(lengths[b] >= 0 && lengths[b] <= sizes.positions,
                   ErrorCode::kOutOfRange, "crf.length",
                   "{}: input Length[{}] = {}; expected 0 to {}, the positions "
                   "of Emission",
                   context.op(), b, lengths[b], sizes.positions);
  }
  return lengths;
}

// Checks input Label up to the length of each sequence, and returns it.
inline const int64_t* CrfLabelsOf(const OpKernelContext& context,
                                  const CrfSizes& sizes,
                                  const int64_t* lengths) {
  const int64_t* labels = context.Input("Label").data<int64_t>();
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t t = 0; t < lengths[b]; ++t) {
      const int64_t label = labels[b * sizes.positions + t];
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
