#pragma once

#include <cstdint>

#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/operators/math/conversion/quantize_range.h"

// An Eigen device expression, the same for every Eigen device. Only for .cc and
// .cu files: it is the one kind of header that includes Eigen.
namespace sluice::operators::math {

// Moves each of `count` elements to the nearest level of `range`, after
// clipping: round((clip(x, min, max) - min) * scale) / scale + min, at most
// max. Halves are rounded up. NaN stays NaN. T is an Eigen scalar; C, float or
// double, is computed with.
template <typename Device, typename T, typename C>
struct QuantizeAndDequantizeOneScale {
  void operator()(const Device& d,
                  const T* input,
                  int64_t count,
                  const QuantizeRange<C>& range,
                  T* output) const {
    using Index = Eigen::Index;
    const Eigen::TensorMap<Eigen::Tensor<const T, 1, Eigen::RowMajor, Index>>
        in(input, count);
    Eigen::TensorMap<Eigen::Tensor<T, 1, Eigen::RowMajor, Index>> out(output,
                                                                      count);
    const auto clipped = in.template cast<C>()
                             .template cwiseMin<Eigen::PropagateNaN>(range.max)
                             .template cwiseMax<Eigen::PropagateNaN>(range.min);
    const auto level = (clipped - range.min) * range.scale;
    // A sum with 0.5 would be rounded itself, from 2^22 on or just below 0.5.
    const auto whole = level.floor();
    const auto up = ((level - whole) * C(2)).floor();
    out.device(d) = ((whole + up) / range.scale + range.min)
                        .template cwiseMin<Eigen::PropagateNaN>(range.max)
                        .template cast<T>();
  }
};

}  // namespace sluice::operators::math
