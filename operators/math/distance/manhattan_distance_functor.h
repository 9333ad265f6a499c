#pragma once

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/export.h"

namespace sluice {

// Computes the pairwise L1 distances of the rows of x [n, p] and y [m, p] with
// the best kernel for the context's device. z must be allocated, [n, m]. All
// three have dtype T and are at the context's place. The functors of
// CUDADeviceContext are in manhattan_distance_functor.cuh.
template <typename DeviceContext, typename T>
class ManhattanDistance {
 public:
  void operator()(const DeviceContext& context,
                  const Tensor& x,
                  const Tensor& y,
                  Tensor* z) const;
};

template <typename T>
class SLUICE_API ManhattanDistance<CPUDeviceContext, T> {
 public:
  void operator()(const CPUDeviceContext& context,
                  const Tensor& x,
                  const Tensor& y,
                  Tensor* z) const;
};

// Computes the gradients of sum(z_grad * z) for x and y. A gradient that is not
// needed is nullptr; the others must be allocated in the shapes of x and y.
template <typename DeviceContext, typename T>
class ManhattanDistanceGrad {
 public:
  void operator()(const DeviceContext& context,
                  const Tensor& x,
                  const Tensor& y,
                  const Tensor& z_grad,
                  Tensor* x_grad,
                  Tensor* y_grad) const;
};

template <typename T>
class SLUICE_API ManhattanDistanceGrad<CPUDeviceContext, T> {
 public:
  void operator()(const CPUDeviceContext& context,
                  const Tensor& x,
                  const Tensor& y,
                  const Tensor& z_grad,
                  Tensor* x_grad,
                  Tensor* y_grad) const;
};

}  // namespace sluice
