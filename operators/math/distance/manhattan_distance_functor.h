#pragma once

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// The pairwise L1 distances of the rows of x [n, p] and y [m, p], by the best
// kernel that the context's device has. z has to be allocated, [n, m]; all
// three are of dtype T, at the context's place. The functors of
// CUDADeviceContext are in manhattan_distance_functor.cuh.
template <typename DeviceContext, typename T>
class ManhattanDistance {
 public:
  void operator()(const DeviceContext& context,
                  const framework::Tensor& x,
                  const framework::Tensor& y,
                  framework::Tensor* z) const;
};

template <typename T>
class SLUICE_API ManhattanDistance<platform::CPUDeviceContext, T> {
 public:
  void operator()(const platform::CPUDeviceContext& context,
                  const framework::Tensor& x,
                  const framework::Tensor& y,
                  framework::Tensor* z) const;
};

// The gradients of sum(z_grad * z) for x and y; either may be nullptr and is
// left out then. Those given have to be allocated, in the shapes of x and y.
template <typename DeviceContext, typename T>
class ManhattanDistanceGrad {
 public:
  void operator()(const DeviceContext& context,
                  const framework::Tensor& x,
                  const framework::Tensor& y,
                  const framework::Tensor& z_grad,
                  framework::Tensor* x_grad,
                  framework::Tensor* y_grad) const;
};

template <typename T>
class SLUICE_API ManhattanDistanceGrad<platform::CPUDeviceContext, T> {
 public:
  void operator()(const platform::CPUDeviceContext& context,
                  const framework::Tensor& x,
                  const framework::Tensor& y,
                  const framework::Tensor& z_grad,
                  framework::Tensor* x_grad,
                  framework::Tensor* y_grad) const;
};

}  // namespace sluice::operators::math
