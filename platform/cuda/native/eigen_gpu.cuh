#pragma once

// Eigen's tensors on a GPU: include this in place of
// <unsupported/Eigen/CXX11/Tensor> in .cu files. The emulation has a file of
// the same name.

#include "sluice/platform/cuda/cuda_check.h"

// Eigen's own gpu_assert ends the process.
#ifdef __CUDA_ARCH__
#define gpu_assert(condition)
#else
#define gpu_assert(condition)                          \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::sluice::RaiseEigenError(#condition))
#endif

#ifdef __CUDACC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012  // needless qualifiers on Eigen's defaults
#endif
#define EIGEN_USE_GPU
#include <unsupported/Eigen/CXX11/Tensor>
#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
