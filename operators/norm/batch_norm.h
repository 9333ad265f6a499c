#pragma once

#include <cstdint>

#include "sluice/operators/math/chain/chain.h"
#include "sluice/platform/export.h"

// Batch normalisation of S. Ioffe and C. Szegedy (2015) in host memory, on
// ParallelFor. Sums are taken in double, for each channel in an order that does
// not depend on the number of threads. T: float, double.
namespace sluice {

// [n, channels, pixels], or [n, pixels, channels] where channels_last.
struct BatchNormDims {
  int64_t n = 0, channels = 0, pixels = 0;
  bool channels_last = false;

  int64_t count() const { return n * pixels; }  // elements of a channel
  // Returns the offset of element i of channel c.
  int64_t At(int64_t c, int64_t i) const {
    return channels_last ? i * channels + c
                         : (i / pixels * channels + c) * pixels + i % pixels;
  }
};

// Mean, variance (the mean of squared distances to the mean) and inverse_std =
// 1 / sqrt(variance + epsilon) of each channel, in two passes; mean and
// variance are 0 where a channel has no elements.
template <typename T>
SLUICE_API void BatchMoments(const BatchNormDims& dims,
                             const T* x,
                             double epsilon,
                             double* mean,
                             double* variance,
                             double* inverse_std);

// y = (x - mean) * inverse_std * scale + bias, by channel, and what `chain`
// makes of that.
template <typename T>
SLUICE_API void Normalize(const BatchNormDims& dims,
                          const T* x,
                          const T* mean,
                          const T* inverse_std,
                          const T* scale,
                          const T* bias,
                          T* y,
                          const OutputChain<T>& chain = {});

// The bias with which Normalize takes `mean` itself, not what T keeps of it: of
// a mean of 1e4 a float keeps no more than three decimals. Where the difference
// is no finite number, as of a NaN or an infinity, it is `bias` itself.
template <typename T>
constexpr T BiasOfRoundedMean(double mean, T inverse_std, T scale, T bias) {
  const double rest = mean - static_cast<double>(static_cast<T>(mean));
  const double change = rest * (static_cast<double>(inverse_std) * scale);
  // std::isfinite is not for device code. NOLINTNEXTLINE(misc-redundant-*)
  return change - change == 0 ? static_cast<T>(bias - change) : bias;
}

// The arrays that the gradient reads and writes. A gradient that is null is 0,
// or not wanted.
template <typename T>
struct BatchNormGradArgs {
  // mean and inverse_std are constants, not x's own: x_grad does not depend on
  // x, and no NaN of x reaches it.
  bool is_test = false;
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

// The gradient of y where `out` is the output of a relu after it, of gradient
// `out_grad`: relu_grad, where a NaN of out lets the gradient pass.
template <typename T>
SLUICE_API void ReluGrad(const BatchNormDims& dims,
                         const T* out,
                         const T* out_grad,
                         T* grad);

// Numbers a channel: the sums of y_grad and of y_grad * (x - mean) *
// inverse_std, mean_grad and inverse_std_grad. What several processes have of
// them is added up.
inline constexpr int kBatchNormGradSums = 4;

// Fills sums[kBatchNormGradSums, channels], scale_grad and bias_grad.
template <typename T>
SLUICE_API void BatchNormGradSums(const BatchNormDims& dims,
                                  const BatchNormGradArgs<T>& args,
                                  double* sums);

// Fills x_grad, which may be y_grad, from sums of `count` elements a channel,
// which it overwrites.
template <typename T>
SLUICE_API void BatchNormInputGrad(const BatchNormDims& dims,
                                   const BatchNormGradArgs<T>& args,
                                   int64_t count,
                                   double* sums);

}  // namespace sluice
