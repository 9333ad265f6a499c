#pragma once

#include <cstdint>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

// Normalization of rows in host memory, through ParallelFor: layer norm (J. Ba,
// J. Kiros, G. Hinton 2016), instance norm (D. Ulyanov, A. Vedaldi, V.
// Lempitsky 2016), group norm (Y. Wu, K. He 2018) and root mean square norm (B.
// Zhang, R. Sennrich 2019). Means and variances are summed in double, in two
// passes. The bits do not depend on the number of threads. T: float, double.
namespace sluice {

// A dense tensor [rows, channels, run]. Each row is normalized, then scaled and
// shifted by a scale and a bias per channel. The parameters of row r begin at
// number r % groups * channels.
struct RowNormGeometry {
  int64_t rows = 0, channels = 1, run = 1, groups = 1;
  // If false, the mean is not subtracted, and the variance is the mean of the
  // squares.
  bool centered = true;
  double epsilon = 0;

  // Contiguous parameters whose gradients one thread sums.
  static constexpr int64_t kParameterBlock = 64;

  constexpr int64_t size() const { return channels * run; }
  // For RowNormGrad: a mean and an inverse deviation for each row.
  constexpr int64_t moment_count() const { return size() == 0 ? 0 : 2 * rows; }
  constexpr int64_t parameters() const { return groups * channels; }
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias; y may be x. Mean
// and variance [rows] of rows without elements are NaN. If null, `scale` is 1
// and `bias` is 0, and `mean` and `variance` are not written.
template <typename T>
struct RowNormArgs {
  const T* x = nullptr;
  const T* scale = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  T* mean = nullptr;
  T* variance = nullptr;
};

template <typename T>
SLUICE_API void RowNorm(const RowNormGeometry& geometry,
                        const RowNormArgs<T>& args);

// If null, `scale` is 1, the gradients of y, mean and variance are 0, and the
// other gradients are not computed.
template <typename T>
struct RowNormGradArgs {
  const T* x = nullptr;
  const T* scale = nullptr;
  const T* y_grad = nullptr;
  const T* mean_grad = nullptr;
  const T* variance_grad = nullptr;
  T* x_grad = nullptr;
  T* scale_grad = nullptr;
  T* bias_grad = nullptr;
};

// With n = size(), w = y_grad * scale and s = 1 / sqrt(variance + epsilon):
// x_grad = s w + (x - mean) (2 variance_grad - s^3 sum(w (x - mean))) / n
//   + (mean_grad - s sum(w)) / n, without the last line if not centered.
// `moments` has space for moment_count() numbers.
template <typename T>
SLUICE_API void RowNormGrad(const RowNormGeometry& geometry,
                            const RowNormGradArgs<T>& args,
                            double* moments);

using NormQuery = KernelQuery;

// The rows that the ops normalize, for kernels of all places. Input 0 is X.
// Each struct has the rows of an op and the shape of its output with a number
// for each row. In layer_norm and rms_norm a row is the dims from
// begin_norm_axis on; each of its elements has a scale and a bias.
template <bool kCentered>
struct RowsFromAxis {
  static RowNormGeometry Of(const NormQuery& query) {
    const DDim& x = query.inputs[0];
    const auto axis = query.Attr<int64_t>("begin_norm_axis");
    const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    return {.rows = x.Product(0, at),
            .channels = x.Product(at, x.rank()),
            .centered = kCentered,
            .epsilon = query.Attr<double>("epsilon")};
  }
  static DDim MomentDims(const NormQuery& query) { return {Of(query).rows}; }
};
using LayerNorm = RowsFromAxis<true>;
using RmsNorm = RowsFromAxis<false>;

// A row of group_norm, for [N, C, ...], is C / groups channels.
struct GroupNorm {
  static RowNormGeometry Of(const NormQuery& query) {
    return Of(query, query.Attr<int64_t>("groups"));
  }

  static RowNormGeometry Of(const NormQuery& query, int64_t groups) {
    const DDim& x = query.inputs[0];
    return {.rows = x[0] * groups,
            .channels = groups == 0 ? 0 : x[1] / groups,
            .run = x.Product(2, x.rank()),
            .groups = groups,
            .epsilon = query.Attr<double>("epsilon")};
  }
  static DDim MomentDims(const NormQuery& query) {
    return {query.inputs[0][0], query.Attr<int64_t>("groups")};
  }
};

// A row of instance_norm is one channel.
struct InstanceNorm {
  static RowNormGeometry Of(const NormQuery& query) {
    return GroupNorm::Of(query, query.inputs[0][1]);
  }
  static DDim MomentDims(const NormQuery& query) {
    return {query.inputs[0][0], query.inputs[0][1]};
  }
};

}  // namespace sluice
