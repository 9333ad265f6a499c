#include "sluice/operators/norm/batch_norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

// The loops are plain; g++ vectorizes them.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/norm/far_moments.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

// Below about 10 us of work, a second thread costs more than it saves.
constexpr int64_t kElements = 16'384;
// Adjacent channels that one thread sums: a cache line of floats.
constexpr int64_t kSideBySide = 16;
// With fewer groups of channels, threads share chunks of rows instead.
constexpr int64_t kFewGroups = 8;
// Partial sums of a row of pixels.
constexpr int64_t kPartial = 8;
// The elements of a block, which fits into the first-level cache.
constexpr int64_t kBlock = 2048;

int64_t Grain(int64_t elements) {
  return 1 + kElements / (1 + elements);
}

// The terms of sums over channels: Of(channel, index) returns kSums numbers for
// an element.
template <typename F>
struct OneValue {
  static constexpr size_t kSums = 1;
  F value;

  HWY_INLINE std::array<double, 1> Of(int64_t c, int64_t i) const {
    return {value(c, i)};
  }
};
template <typename F>
OneValue(F) -> OneValue<F>;

// The sums of all channels, as sums[k][channel].
template <typename Values>
using SumsOf = std::array<double*, Values::kSums>;

// Sums one channel of [n, channels, pixels].
template <typename Values>
void SumOfPlanes(const BatchNormDims& dims,
                 int64_t c,
                 const Values& values,
                 const SumsOf<Values>& sums) {
  double partial[Values::kSums][kPartial] = {};
  const auto add = [&](int64_t l, int64_t i) HWY_ATTR {
    const auto terms = values.Of(c, i);
    for (size_t k = 0; k < terms.size(); ++k) {
      partial[k][l] += terms[k];
    }
  };
  for (int64_t image = 0; image < dims.n; ++image) {
    const int64_t first = (image * dims.channels + c) * dims.pixels;
    int64_t i = 0;
    for (; i + kPartial <= dims.pixels; i += kPartial) {
      for (int64_t l = 0; l < kPartial; ++l) {
        add(l, first + i + l);
      }
    }
    for (; i < dims.pixels; ++i) {
      add(0, first + i);
    }
  }
  for (size_t k = 0; k < Values::kSums; ++k) {
    sums[k][c] = 0;
    for (const double part : partial[k]) {
      sums[k][c] += part;
    }
  }
}

template <typename Values>
using SideBySideSums =
    std::array<std::array<double, kSideBySide>, Values::kSums>;

// Adds one row's elements of channels [c, c + channels).
template <typename Values>
HWY_INLINE void AddRow(const BatchNormDims& dims,
                       int64_t row,
                       int64_t c,
                       int64_t channels,
                       const Values& values,
                       SideBySideSums<Values>* sums) {
  const int64_t first = row * dims.channels + c;
  for (int64_t l = 0; l < channels; ++l) {
    const auto terms = values.Of(c + l, first + l);
    for (size_t k = 0; k < terms.size(); ++k) {
      (*sums)[k][static_cast<size_t>(l)] += terms[k];
    }
  }
}

// Sums channels [c, c + channels) of rows [begin, end) of [rows, channels].
template <typename Values>
SideBySideSums<Values> SumOfRows(const BatchNormDims& dims,
                                 int64_t begin,
                                 int64_t end,
                                 int64_t c,
                                 int64_t channels,
                                 const Values& values) {
  SideBySideSums<Values> sums = {};
  if (channels == kSideBySide) {  // a compile-time constant
    for (int64_t row = begin; row < end; ++row) {
      AddRow(dims, row, c, kSideBySide, values, &sums);
    }
  } else {
    for (int64_t row = begin; row < end; ++row) {
      AddRow(dims, row, c, channels, values, &sums);
    }
  }
  return sums;
}

// Sums channels [c, c + channels) of all rows, on all threads.
template <typename Values>
SideBySideSums<Values> SumOfChunks(const BatchNormDims& dims,
                                   const RowChunks& chunks,
                                   int64_t c,
                                   int64_t channels,
                                   const Values& values) {
  std::array<SideBySideSums<Values>, RowChunks::kMost> partial;
  ParallelFor(chunks.count, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      partial[static_cast<size_t>(i)] = SumOfRows(
          dims, chunks.First(i), chunks.First(i + 1), c, channels, values);
    }
  });
  SideBySideSums<Values> sums = {};
  for (size_t i = 0; i < static_cast<size_t>(chunks.count); ++i) {
    for (size_t k = 0; k < Values::kSums; ++k) {
      for (size_t l = 0; l < kSideBySide; ++l) {
        sums[k][l] += partial[i][k][l];
      }
    }
  }
  return sums;
}

// Sums the elements of each channel.
template <typename Values>
void ChannelSums(const BatchNormDims& dims,
                 const Values& values,
                 const SumsOf<Values>& sums) {
  if (!dims.channels_last) {
    ParallelFor(dims.channels, Grain(dims.count()),
                [&](int64_t begin, int64_t end) HWY_ATTR {
                  for (int64_t c = begin; c < end; ++c) {
                    SumOfPlanes(dims, c, values, sums);
                  }
                });
    return;
  }
  const auto keep = [&](int64_t c, int64_t channels,
                        const SideBySideSums<Values>& found) HWY_ATTR {
    for (size_t k = 0; k < Values::kSums; ++k) {
      std::copy_n(found[k].begin(), channels, sums[k] + c);
    }
  };
  const auto channels_from = [&](int64_t c) HWY_ATTR {
    return std::min(kSideBySide, dims.channels - c);
  };
  const int64_t groups = (dims.channels + kSideBySide - 1) / kSideBySide;
  const RowChunks chunks(dims.count());
  if (groups < kFewGroups && chunks.count > 1) {
    for (int64_t c = 0; c < dims.channels; c += kSideBySide) {
      keep(c, channels_from(c),
           SumOfChunks(dims, chunks, c, channels_from(c), values));
    }
    return;
  }
  ParallelFor(
      groups, Grain(dims.count() * kSideBySide),
      [&](int64_t begin, int64_t end) HWY_ATTR {
        for (int64_t c = begin * kSideBySide;
             c < std::min(end * kSideBySide, dims.channels); c += kSideBySide) {
          keep(c, channels_from(c),
               SumOfRows(dims, 0, dims.count(), c, channels_from(c), values));
        }
      });
}

template <int64_t kStep>
using Step = std::integral_constant<int64_t, kStep>;

// Calls row(channel of the first element, channel step, first element,
// elements) for runs that cover the tensor. Calls then(first element, elements)
// after each block of about kBlock contiguous elements.
template <typename Row, typename Then>
void ForEachRun(const BatchNormDims& dims, const Row& row, const Then& then) {
  const int64_t size = dims.channels_last ? dims.channels : dims.pixels;
  const int64_t runs =
      dims.channels_last ? dims.count() : dims.n * dims.channels;
  const int64_t block = 1 + kBlock / (1 + size);
  ParallelFor(runs, Grain(size), [&](int64_t begin, int64_t end) HWY_ATTR {
    while (begin < end) {
      const int64_t block_end = std::min(begin + block, end);
      for (int64_t i = begin; i < block_end; ++i) {
        if (dims.channels_last) {
          row(0, Step<1>(), i * size, size);
        } else {
          row(i % dims.channels, Step<0>(), i * size, size);
        }
      }
      then(begin * size, (block_end - begin) * size);
      begin = block_end;
    }
  });
}

template <typename Row>
void ForEachRun(const BatchNormDims& dims, const Row& row) {
  ForEachRun(dims, row, [](int64_t, int64_t) {});
}

template <typename T>
void MomentsOfChannels(const BatchNormDims& dims,
                       const T* x,
                       double* mean,
                       double* variance) {
  const double count = static_cast<double>(std::max<int64_t>(dims.count(), 1));
  ChannelSums(
      dims, OneValue{[x](int64_t, int64_t i) HWY_ATTR { return double{x[i]}; }},
      {mean});
  for (int64_t c = 0; c < dims.channels; ++c) {
    mean[c] /= count;
  }
  ChannelSums(dims, OneValue{[x, mean](int64_t c, int64_t i) HWY_ATTR {
                const double distance = x[i] - mean[c];
                return distance * distance;
              }},
              {variance});
  for (int64_t c = 0; c < dims.channels; ++c) {
    variance[c] /= count;
  }
}

template <typename T>
void NormalizeElements(const BatchNormDims& dims,
                       const T* x,
                       const T* mean,
                       const T* inverse_std,
                       const T* scale,
                       const T* bias,
                       T* y,
                       const OutputChain<T>& chain) {
  const auto row = [&](int64_t c, auto step, int64_t first,
                       int64_t size) HWY_ATTR {
    for (int64_t l = 0; l < size; ++l, c += step) {
      const int64_t i = first + l;
      // The difference is halved, as x - mean may overflow.
      const T half = T{0.5} * x[i] - T{0.5} * mean[c];
      y[i] = half * (2 * inverse_std[c]) * scale[c] + bias[c];
    }
  };
  ForEachRun(dims, row, [&](int64_t first, int64_t size) HWY_ATTR {
    chain.Apply(first, size, y);
  });
}

// Functors that return the gradient of y.
template <typename T>
struct NoGradient {
  HWY_INLINE T operator()(int64_t /*i*/) const { return 0; }
};
template <typename T>
struct GivenGradient {
  const T* y_grad;
  HWY_INLINE T operator()(int64_t i) const { return y_grad[i]; }
};
// The terms y_grad and y_grad * (x - mean).
template <typename T>
struct GradTerms {
  static constexpr size_t kSums = 2;
  const T* y_grad;
  const T* x;
  const T* mean;

  HWY_INLINE std::array<double, 2> Of(int64_t c, int64_t i) const {
    const double grad = y_grad[i];
    return {grad, grad * (double{x[i]} - mean[c])};
  }
};

// Computes x_grad = value(channel, index, y_grad).
template <typename T, typename Value>
void FillGradients(const BatchNormDims& dims,
                   const BatchNormGradArgs<T>& args,
                   const Value& value) {
  const auto fill = [&]<typename Gradient>(const Gradient& y_grad) HWY_ATTR {
    const auto row = [&](int64_t c, auto step, int64_t first,
                         int64_t size) HWY_ATTR {
      T* const x_grad = args.x_grad;
      for (int64_t i = first; i < first + size; ++i, c += step) {
        x_grad[i] = value(c, i, y_grad(i));
      }
    };
    ForEachRun(dims, row);
  };
  if (args.y_grad == nullptr) {
    fill(NoGradient<T>());
  } else {
    fill(GivenGradient<T>{args.y_grad});
  }
}

template <typename T>
void GradientOfRelu(const BatchNormDims& dims,
                    const T* out,
                    const T* out_grad,
                    T* grad) {
  ParallelFor(dims.count() * dims.channels, kElements,
              [=](int64_t begin, int64_t end) HWY_ATTR {
                for (int64_t i = begin; i < end; ++i) {
                  const T passes = out_grad[i];
                  grad[i] = out[i] <= 0 ? T{0} : passes;
                }
              });
}

template <typename T>
void SumsOfGradients(const BatchNormDims& dims,
                     const BatchNormGradArgs<T>& args,
                     double* sums) {
  double* bias_sums = sums;
  double* scale_sums = bias_sums + dims.channels;
  double* mean_grads = scale_sums + dims.channels;
  double* inverse_std_grads = mean_grads + dims.channels;
  std::fill(sums, sums + kBatchNormGradSums * dims.channels, 0.0);
  // Without y_grad, sums must stay 0 even if x is NaN.
  if (args.y_grad != nullptr) {
    ChannelSums(dims, GradTerms<T>{args.y_grad, args.x, args.mean},
                {bias_sums, scale_sums});
  }
  for (int64_t c = 0; c < dims.channels; ++c) {
    if (args.y_grad != nullptr) {
      scale_sums[c] = SumInRange<T>(
          scale_sums[c] * args.inverse_std[c], args.mean[c],
          args.inverse_std[c], dims.count(),
          [&](int64_t i) { return double{args.y_grad[dims.At(c, i)]}; },
          [&](int64_t i) { return double{args.x[dims.At(c, i)]}; });
    }
    if (args.bias_grad != nullptr) {
      args.bias_grad[c] = static_cast<T>(bias_sums[c]);
    }
    if (args.scale_grad != nullptr) {
      args.scale_grad[c] = static_cast<T>(scale_sums[c]);
    }
    if (args.mean_grad != nullptr) mean_grads[c] = args.mean_grad[c];
    if (args.inverse_std_grad != nullptr) {
      inverse_std_grads[c] = args.inverse_std_grad[c];
    }
  }
}

template <typename T>
void GradientOfInput(const BatchNormDims& dims,
                     const BatchNormGradArgs<T>& args,
                     int64_t count,
                     double* sums) {
  const T* const x = args.x;
  const T* const mean = args.mean;
  const T* const inverse_stds = args.inverse_std;
  const T* const scale = args.scale;
  if (args.is_test) {
    // mean and inverse_std are constants, which may be infinite.
    const bool none = args.y_grad == nullptr;
    const auto scaled = [=](int64_t c, int64_t /*i*/, T y_grad) HWY_ATTR {
      return none ? T{0} : inverse_stds[c] * scale[c] * y_grad;
    };
    return FillGradients(dims, args, scaled);
  }
  double* bias_sums = sums;
  double* scale_sums = bias_sums + dims.channels;
  const double* mean_grads = scale_sums + dims.channels;
  const double* inverse_std_grads = mean_grads + dims.channels;
  // Now computes x_grad = a y_grad + scale_sums (x - mean) inverse_std +
  // bias_sums.
  const auto elements = static_cast<double>(std::max<int64_t>(count, 1));
  for (int64_t c = 0; c < dims.channels; ++c) {
    const double inverse_std = args.inverse_std[c];
    const double a = inverse_std * args.scale[c];
    // This uses inverse_std = (variance + epsilon)^(-1/2).
    bias_sums[c] = (mean_grads[c] - a * bias_sums[c]) / elements;
    scale_sums[c] = -(a * scale_sums[c] +
                      inverse_std_grads[c] * inverse_std * inverse_std) /
                    elements;
  }
  FillGradients(dims, args, [=](int64_t c, int64_t i, T y_grad) HWY_ATTR {
    const T a = inverse_stds[c] * scale[c];
    const T half = T{0.5} * x[i] - T{0.5} * mean[c];
    return a * y_grad +
           half * (2 * inverse_stds[c]) * static_cast<T>(scale_sums[c]) +
           static_cast<T>(bias_sums[c]);
  });
}

SLUICE_SIMD_FLOATS(MomentsOfChannels);
SLUICE_SIMD_FLOATS(NormalizeElements);
SLUICE_SIMD_FLOATS(SumsOfGradients);
SLUICE_SIMD_FLOATS(GradientOfInput);
SLUICE_SIMD_FLOATS(GradientOfRelu);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(MomentsOfChannels);
SLUICE_EXPORT_FLOATS(NormalizeElements);
SLUICE_EXPORT_FLOATS(SumsOfGradients);
SLUICE_EXPORT_FLOATS(GradientOfInput);
SLUICE_EXPORT_FLOATS(GradientOfRelu);

}  // namespace

template <typename T>
void BatchMoments(const BatchNormDims& dims,
                  const T* x,
                  double epsilon,
                  double* mean,
                  double* variance,
                  double* inverse_std) {
  MomentsOfChannelsFor<T>()(dims, x, mean, variance);
  for (int64_t c = 0; c < dims.channels; ++c) {
    const ScaledMoments moments =
        MomentsInRange<T>({mean[c], variance[c]}, epsilon, true, dims.count(),
                          [&](int64_t i) { return double{x[dims.At(c, i)]}; });
    mean[c] = moments.Mean();
    variance[c] = moments.Variance();
    inverse_std[c] = moments.shrink / std::sqrt(moments.Square(epsilon));
  }
}

template <typename T>
void Normalize(const BatchNormDims& dims,
               const T* x,
               const T* mean,
               const T* inverse_std,
               const T* scale,
               const T* bias,
               T* y,
               const OutputChain<T>& chain) {
  NormalizeElementsFor<T>()(dims, x, mean, inverse_std, scale, bias, y, chain);
}

template <typename T>
void BatchNormGradSums(const BatchNormDims& dims,
                       const BatchNormGradArgs<T>& args,
                       double* sums) {
  SumsOfGradientsFor<T>()(dims, args, sums);
}

template <typename T>
void BatchNormInputGrad(const BatchNormDims& dims,
                        const BatchNormGradArgs<T>& args,
                        int64_t count,
                        double* sums) {
  GradientOfInputFor<T>()(dims, args, count, sums);
}

template <typename T>
void ReluGrad(const BatchNormDims& dims,
              const T* out,
              const T* out_grad,
              T* grad) {
  GradientOfReluFor<T>()(dims, out, out_grad, grad);
}

SLUICE_INSTANTIATE_FLOATS(BatchMoments);
SLUICE_INSTANTIATE_FLOATS(Normalize);
SLUICE_INSTANTIATE_FLOATS(ReluGrad);
SLUICE_INSTANTIATE_FLOATS(BatchNormGradSums);
SLUICE_INSTANTIATE_FLOATS(BatchNormInputGrad);

}  // namespace sluice
#endif  // HWY_ONCE
