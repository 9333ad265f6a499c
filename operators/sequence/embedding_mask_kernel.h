#pragma once

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/operators/sequence/embedding_mask.h"
#include "sluice/platform/error.h"

// Shared by the CPU kernels of ops on embeddings and run-length coded masks.
namespace sluice {

// Returns the sizes from Embedding's and Mask's shapes, which are checked.
inline EmbeddingMaskSizes EmbeddingMaskSizesOf(const DDim& embedding,
                                               const DDim& mask) {
  return {.batch = embedding[0],
          .x = embedding[1],
          .y = embedding[2],
          .features = embedding[3],
          .masks = mask[1]};
}

// Raises OutOfRange for a run that is not within [0, height].
template <typename S>
void CheckEmbeddingRuns(const OpKernelContext& context,
                        const S* runs,
                        int64_t height) {
  const DDim& mask = context.Input("Mask").dims();
  const int64_t i = FindInvalidRun(runs, mask.numel() / 2, height);
  if (i < 0) return;
  const int64_t start = runs[2 * i];
  const int64_t end = runs[2 * i + 1];
  const int64_t x = i % mask[2];
  const int64_t m = i / mask[2] % mask[1];
  const int64_t b = i / mask[2] / mask[1];
  SLUICE_ENFORCE(start >= 0, ErrorCode::kOutOfRange,
                 "embedding_mask.negative_start",
                 "{}: Mask[{}, {}, {}] is the run [{}, {}), expected a start "
                 "of 0 or more",
                 context.op(), b, m, x, start, end);
  SLUICE_ENFORCE(start <= end, ErrorCode::kOutOfRange,
                 "embedding_mask.start_past_end",
                 "{}: Mask[{}, {}, {}] is the run [{}, {}), expected start <= "
                 "end",
                 context.op(), b, m, x, start, end);
  SLUICE_ENFORCE(end <= height, ErrorCode::kOutOfRange,
                 "embedding_mask.end_past_y",
                 "{}: Mask[{}, {}, {}] is the run [{}, {}), expected an end of "
                 "at most {}, dim 2 of input Embedding",
                 context.op(), b, m, x, start, end, height);
}

// Calls compute(runs) with the checked runs of Mask, int32_t or int64_t.
template <typename Compute>
void WithEmbeddingRuns(const OpKernelContext& context,
                       int64_t height,
                       const Compute& compute) {
  const Tensor& mask = context.Input("Mask");
  const auto check_and_compute = [&](const auto* runs) {
    CheckEmbeddingRuns(context, runs, height);
    compute(runs);
  };
  // Empty tensors may have no memory.
  if (mask.dtype() == DType::kInt32) {
    check_and_compute(static_cast<const int32_t*>(mask.raw_data()));
  } else {
    check_and_compute(static_cast<const int64_t*>(mask.raw_data()));
  }
}

}  // namespace sluice
