#pragma once

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/export.h"

namespace sluice {

// output[n, c, h, w] = max over g < groups of input[n, c * groups + g, h, w]
// for input [N, C, H, W] and an allocated output [N, C / groups, H, W]. NaN is
// larger than every number. Raises InvalidArgument if the shapes and groups do
// not fit together. Stateless; T is a float dtype. The functors of
// CUDADeviceContext are in maxouting.cuh, for float and double.
template <typename DeviceContext, typename T>
class MaxOutFunctor;

template <typename T>
class SLUICE_API MaxOutFunctor<CPUDeviceContext, T> {
 public:
  void operator()(const CPUDeviceContext& context,
                  const Tensor& input,
                  Tensor* output,
                  int groups);
};

// Raises InvalidArgument unless the shapes and groups fit together.
SLUICE_API void CheckMaxOutShapes(const DDim& input,
                                  const DDim& output,
                                  int groups);

// Sets input_grad [N, C, H, W] to output_grad [N, C / groups, H, W] at the
// first maximum of each group, and to 0 elsewhere.
template <typename DeviceContext, typename T>
class MaxOutGradFunctor;

template <typename T>
class SLUICE_API MaxOutGradFunctor<CPUDeviceContext, T> {
 public:
  void operator()(const CPUDeviceContext& context,
                  const Tensor& input,
                  const Tensor& output_grad,
                  Tensor* input_grad,
                  int groups);
};

}  // namespace sluice
