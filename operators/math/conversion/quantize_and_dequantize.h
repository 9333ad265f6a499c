#pragma once

#include <cstdint>

#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/operators/math/conversion/quantize_range.h"

// An Eigen expression for all Eigen devices. For .cc and .cu files only:
// headers of this kind are the only ones that include Eigen.
namespace sluice {

// Rounds each of `count` elements to the nearest level of `range` after
// clipping: round((clip(x, min, max) - min) * scale) / scale + min, at most
// max. Ties round up. NaN stays NaN. T is an Eigen scalar; the computation is
// in C, float or double.
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
    // Adding 0.5 would round, from 2^22 on or just below 0.5.
    const auto whole = level.floor();
    const auto up = ((level - whole) * C(2)).floor();
    out.device(d) = ((whole + up) / range.scale + range.min)
                        .template cwiseMin<Eigen::PropagateNaN>(range.max)
                        .template cast<T>();
  }
};

}  // namespace sluice
