#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Batch normalisation of S. Ioffe and C. Szegedy (2015) in host memory, on
// ParallelFor. Sums are taken in double, for each channel in an order that does
// not depend on the number of threads. T: float, double.
namespace sluice::operators::math {

// [n, channels, pixels], or [n, pixels, channels] where channels_last.
struct BatchNormDims {
  int64_t n = 0, channels = 0, pixels = 0;
  bool channels_last = false;

  int64_t count() const { return n * pixels; }  // elements of a channel
};

// Mean and variance (the mean of squared distances to the mean) of each
// channel, in two passes; 0 where a channel has no elements.
template <typename T>
SLUICE_API void BatchMoments(const BatchNormDims& dims,
                             const T* x,
                             double* mean,
                             double* variance);

// y = (x - mean) * inverse_std * scale + bias, by channel.
template <typename T>
SLUICE_API void Normalize(const BatchNormDims& dims,
                          const T* x,
                          const T* mean,
                          const T* inverse_std,
                          const T* scale,
                          const T* bias,
                          T* y);

// What the gradient reads and writes; any gradient may be null: 0, or not
// wanted.
template <typename T>
struct BatchNormGradArgs {
  bool is_test = false;  // mean and inverse_std are constants, not x's own
  const T* x = nullptr;
  const T* scale = nullptr;
  const T* mean = nullptr;
  const T* inverse_std = nullptr;
  const T* y_grad = nullptr;
  const T* mean_grad = nullptr;
  const T* inverse_std_grad = nullptr;
  T* x_grad = nullptr;
  T* scale_grad = nullptr;
  T* bias_grad = nullptr;
};

// `sums` is room for 2 * channels numbers.
template <typename T>
SLUICE_API void BatchNormGrad(const BatchNormDims& dims,
                              const BatchNormGradArgs<T>& args,
                              double* sums);

}  // namespace sluice::operators::math
