#pragma once

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/platform/cuda/data_check.h"
#include "sluice/platform/cuda/launch.h"

// Shared by the CUDA kernels of ops on embeddings and run-length coded masks.
namespace sluice {

// kOp is the op's name.
template <const auto& kOp>
void RaiseEmbeddingRun(int64_t position, int64_t value, int64_t bound) {
  Raise(ErrorCode::kOutOfRange, "embedding_mask.bad_run",
        "{}: run {} of input Mask {} {}, expected 0 <= start <= end "
        "<= {}, dim 2 of input Embedding",
        kOp, position / 2, position % 2 == 0 ? "starts at" : "ends at", value,
        bound - 1);
}

// The masks of all images, numbered across images: mask m is of image m /
// masks. Kernels receive it by value.
struct DeviceMasks {
  explicit DeviceMasks(const OpKernelContext& context)
      : runs(context.Input("Mask").raw_data()),
        wide(context.Input("Mask").dtype() == DType::kInt64),
        batch(context.Input("Embedding").dims()[0]),
        x(context.Input("Embedding").dims()[1]),
        y(context.Input("Embedding").dims()[2]),
        features(context.Input("Embedding").dims()[3]),
        masks(context.Input("Mask").dims()[1]) {}

  // Enqueues a check of all runs.
  void Check(const CUDADeviceContext& device, RaiseOutside raise) const {
    const DataCheck check(device, y + 1, raise);
    const DeviceMasks self = *this;
    ForEach(device, count() * x, [=] __device__(int64_t i) {
      const int64_t start = self.At(2 * i), end = self.At(2 * i + 1);
      if (!check.Inside(2 * i, start)) return;
      // An end before its start is reported like a negative one.
      check.Inside(2 * i + 1, end < start ? min(end, int64_t{-1}) : end);
    });
  }

  struct Run {
    int64_t start, end;
  };

  int64_t count() const { return batch * masks; }

  __device__ int64_t At(int64_t i) const {
    return wide ? static_cast<const int64_t*>(runs)[i]
                : static_cast<const int32_t*>(runs)[i];
  }
  // Returns an empty run if it is not valid.
  __device__ Run RunOf(int64_t m, int64_t column) const {
    const int64_t i = (m * x + column) * 2;
    const Run run{At(i), At(i + 1)};
    if (run.start < 0 || run.start > run.end || run.end > y) return {0, 0};
    return run;
  }
  __device__ int64_t PixelsOf(int64_t m) const {
    int64_t pixels = 0;
    for (int64_t column = 0; column < x; ++column) {
      const Run run = RunOf(m, column);
      pixels += run.end - run.start;
    }
    return pixels;
  }
  // Returns the first pixel, counted over all images, of a column of mask m.
  __device__ int64_t ColumnOf(int64_t m, int64_t column) const {
    return (m / masks * x + column) * y;
  }
  // Returns the mean of one feature over the pixels of mask m, which has some.
  template <typename T>
  __device__ double MeanOf(const T* embedding,
                           int64_t m,
                           int64_t feature,
                           int64_t pixels) const {
    double sum = 0;
    for (int64_t column = 0; column < x; ++column) {
      const Run run = RunOf(m, column);
      const T* from = embedding + ColumnOf(m, column) * features + feature;
      for (int64_t row = run.start; row < run.end; ++row) {
        sum += from[row * features];
      }
    }
    return sum / static_cast<double>(pixels);
  }

  const void* runs;
  bool wide;  // int64
  int64_t batch, x, y, features, masks;
};

}  // namespace sluice
