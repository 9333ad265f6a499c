#include "sluice/operators/math/norm/batch_norm.h"

#include <algorithm>

#include "sluice/operators/math/block_sums.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::math {
namespace {

// Below some 10 us of work a second thread costs more than it saves.
constexpr int64_t kElements = 16'384;
// Channels side by side that one thread adds up, a cache line of floats.
constexpr int64_t kSideBySide = 16;
// So few groups of channels share no work: their rows do, in chunks.
constexpr int64_t kFewGroups = 8;
// Partial sums of a row of pixels.
constexpr int64_t kPartial = 8;

int64_t Grain(int64_t elements) {
  return 1 + kElements / (1 + elements);
}

// The sum of value(channel, index) over one channel of [n, channels, pixels].
template <typename Value>
double SumOfPlanes(const BatchNormDims& dims, int64_t c, const Value& value) {
  double partial[kPartial] = {};
  for (int64_t image = 0; image < dims.n; ++image) {
    const int64_t first = (image * dims.channels + c) * dims.pixels;
    int64_t i = 0;
    for (; i + kPartial <= dims.pixels; i += kPartial) {
      for (int64_t l = 0; l < kPartial; ++l) {
        partial[l] += value(c, first + i + l);
      }
    }
    for (; i < dims.pixels; ++i) {
      partial[0] += value(c, first + i);
    }
  }
  double sum = 0;
  for (const double part : partial) {
    sum += part;
  }
  return sum;
}

// The same of channels [c, c + channels) of [rows, channels], in the rows
// [begin, end).
template <typename Value>
void SumOfRows(const BatchNormDims& dims,
               int64_t begin,
               int64_t end,
               int64_t c,
               int64_t channels,
               const Value& value,
               double* sums) {
  double partial[kSideBySide] = {};
  for (int64_t row = begin; row < end; ++row) {
    const int64_t first = row * dims.channels + c;
    for (int64_t l = 0; l < channels; ++l) {
      partial[l] += value(c + l, first + l);
    }
  }
  std::copy(partial, partial + channels, sums);
}

// Of all rows, by all threads.
template <typename Value>
void SumOfChunks(const BatchNormDims& dims,
                 const RowChunks& chunks,
                 int64_t c,
                 int64_t channels,
                 const Value& value,
                 double* sums) {
  double partial[RowChunks::kMost][kSideBySide];
  platform::ParallelFor(chunks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      SumOfRows(dims, chunks.First(i), chunks.First(i + 1), c, channels, value,
                partial[i]);
    }
  });
  for (int64_t l = 0; l < channels; ++l) {
    sums[l] = 0;
    for (int64_t i = 0; i < chunks.count; ++i) {
      sums[l] += partial[i][l];
    }
  }
}

// sums[c] = the sum of value(c, index) over the elements of each channel.
template <typename Value>
void ChannelSums(const BatchNormDims& dims, const Value& value, double* sums) {
  if (!dims.channels_last) {
    platform::ParallelFor(dims.channels, Grain(dims.count()),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t c = begin; c < end; ++c) {
                              sums[c] = SumOfPlanes(dims, c, value);
                            }
                          });
    return;
  }
  const int64_t groups = (dims.channels + kSideBySide - 1) / kSideBySide;
  const RowChunks chunks(dims.count());
  if (groups < kFewGroups && chunks.count > 1) {
    for (int64_t c = 0; c < dims.channels; c += kSideBySide) {
      SumOfChunks(dims, chunks, c, std::min(kSideBySide, dims.channels - c),
                  value, sums + c);
    }
    return;
  }
  platform::ParallelFor(
      groups, Grain(dims.count() * kSideBySide),
      [&](int64_t begin, int64_t end) {
        for (int64_t c = begin * kSideBySide;
             c < std::min(end * kSideBySide, dims.channels); c += kSideBySide) {
          SumOfRows(dims, 0, dims.count(), c,
                    std::min(kSideBySide, dims.channels - c), value, sums + c);
        }
      });
}

// Calls row(channel of the first element, step to the next channel, first
// element, elements) for runs that cover the tensor.
template <typename Row>
void ForEachRun(const BatchNormDims& dims, const Row& row) {
  const int64_t size = dims.channels_last ? dims.channels : dims.pixels;
  const int64_t runs =
      dims.channels_last ? dims.count() : dims.n * dims.channels;
  platform::ParallelFor(runs, Grain(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (dims.channels_last) {
        row(0, 1, i * size, size);
      } else {
        row(i % dims.channels, 0, i * size, size);
      }
    }
  });
}

}  // namespace

template <typename T>
void BatchMoments(const BatchNormDims& dims,
                  const T* x,
                  double* mean,
                  double* variance) {
  const double count = static_cast<double>(std::max<int64_t>(dims.count(), 1));
  ChannelSums(
      dims, [x](int64_t, int64_t i) { return static_cast<double>(x[i]); },
      mean);
  for (int64_t c = 0; c < dims.channels; ++c) {
    mean[c] /= count;
  }
  ChannelSums(
      dims,
      [x, mean](int64_t c, int64_t i) {
        const double distance = x[i] - mean[c];
        return distance * distance;
      },
      variance);
  for (int64_t c = 0; c < dims.channels; ++c) {
    variance[c] /= count;
  }
}

template <typename T>
void Normalize(const BatchNormDims& dims,
               const T* x,
               const T* mean,
               const T* inverse_std,
               const T* scale,
               const T* bias,
               T* y) {
  ForEachRun(dims, [&](int64_t c, int64_t step, int64_t first, int64_t size) {
    for (int64_t l = 0; l < size; ++l, c += step) {
      const int64_t i = first + l;
      // By halves, for x - mean may overflow.
      const T half = T{0.5} * x[i] - T{0.5} * mean[c];
      y[i] = half * (2 * inverse_std[c]) * scale[c] + bias[c];
    }
  });
}

namespace {

// x_grad where mean and inverse_std are constants.
template <typename T>
void ScaleByChannel(const BatchNormDims& dims,
                    const BatchNormGradArgs<T>& args) {
  ForEachRun(dims, [&](int64_t c, int64_t step, int64_t first, int64_t size) {
    for (int64_t i = first; i < first + size; ++i, c += step) {
      args.x_grad[i] =
          args.y_grad == nullptr
              ? T{0}
              : args.inverse_std[c] * args.scale[c] * args.y_grad[i];
    }
  });
}

}  // namespace

template <typename T>
void BatchNormGradSums(const BatchNormDims& dims,
                       const BatchNormGradArgs<T>& args,
                       double* sums) {
  double* bias_sums = sums;
  double* scale_sums = bias_sums + dims.channels;
  double* mean_grads = scale_sums + dims.channels;
  double* inverse_std_grads = mean_grads + dims.channels;
  std::fill(sums, sums + kBatchNormGradSums * dims.channels, 0.0);
  if (args.y_grad != nullptr) {
    ChannelSums(
        dims, [&](int64_t, int64_t i) { return double{args.y_grad[i]}; },
        bias_sums);
    ChannelSums(
        dims,
        [&](int64_t c, int64_t i) {
          return double{args.y_grad[i]} * (double{args.x[i]} - args.mean[c]);
        },
        scale_sums);
  }
  for (int64_t c = 0; c < dims.channels; ++c) {
    scale_sums[c] *= args.inverse_std[c];
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
void BatchNormInputGrad(const BatchNormDims& dims,
                        const BatchNormGradArgs<T>& args,
                        int64_t count,
                        double* sums) {
  if (args.is_test) return ScaleByChannel(dims, args);
  double* bias_sums = sums;
  double* scale_sums = bias_sums + dims.channels;
  const double* mean_grads = scale_sums + dims.channels;
  const double* inverse_std_grads = mean_grads + dims.channels;
  // From here on: x_grad = a y_grad + scale_sums (x - mean) inverse_std +
  // bias_sums.
  const auto elements = static_cast<double>(std::max<int64_t>(count, 1));
  for (int64_t c = 0; c < dims.channels; ++c) {
    const double inverse_std = args.inverse_std[c];
    const double a = inverse_std * args.scale[c];
    // inverse_std = (variance + epsilon)^(-1/2).
    const double square = inverse_std * inverse_std;
    bias_sums[c] = (mean_grads[c] - a * bias_sums[c]) / elements;
    scale_sums[c] =
        -(a * scale_sums[c] + inverse_std_grads[c] * square) / elements;
  }
  ForEachRun(dims, [&](int64_t c, int64_t step, int64_t first, int64_t size) {
    for (int64_t l = 0; l < size; ++l, c += step) {
      const int64_t i = first + l;
      const T a = args.inverse_std[c] * args.scale[c];
      const T y_grad = args.y_grad == nullptr ? T{0} : args.y_grad[i];
      const T half = T{0.5} * args.x[i] - T{0.5} * args.mean[c];
      args.x_grad[i] =
          a * y_grad +
          half * (2 * args.inverse_std[c]) * static_cast<T>(scale_sums[c]) +
          static_cast<T>(bias_sums[c]);
    }
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define SLUICE_BATCH_NORM(T)                                                   \
  template SLUICE_API void BatchMoments(const BatchNormDims&, const T*,        \
                                        double*, double*);                     \
  template SLUICE_API void Normalize(const BatchNormDims&, const T*, const T*, \
                                     const T*, const T*, const T*, T*);        \
  template SLUICE_API void BatchNormGradSums(                                  \
      const BatchNormDims&, const BatchNormGradArgs<T>&, double*);             \
  template SLUICE_API void BatchNormInputGrad(                                 \
      const BatchNormDims&, const BatchNormGradArgs<T>&, int64_t, double*)
SLUICE_BATCH_NORM(float);
SLUICE_BATCH_NORM(double);
#undef SLUICE_BATCH_NORM
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace sluice::operators::math
