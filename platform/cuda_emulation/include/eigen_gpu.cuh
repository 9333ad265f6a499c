#pragma once

// Eigen's tensors on the emulated device: include this in place of
// <unsupported/Eigen/CXX11/Tensor> in .cu files. Expressions are evaluated
// element by element; contractions and scans do not compile.

#include <algorithm>

#include <kernel_launch.h>

#include "sluice/platform/cuda/cuda_check.h"

// Eigen's own gpu_assert ends the process.
#define gpu_assert(condition)                          \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::sluice::RaiseEigenError(#condition))

#define EIGEN_USE_GPU
#include <unsupported/Eigen/CXX11/Tensor>

namespace sluice::cuda_emulation {

template <typename Evaluator, typename Index>
void EigenKernel(Evaluator evaluator, Index size) {
  const auto step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < size; i += step) {
    evaluator.evalScalar(i);
  }
}

}  // namespace sluice::cuda_emulation

namespace Eigen {

// These stay incomplete: without Eigen's kernels the host would evaluate them,
// and it cannot read device memory.
template <typename IndexTypes, typename Left, typename Right, typename Output>
struct TensorEvaluator<
    const TensorContractionOp<IndexTypes, Left, Right, Output>,
    GpuDevice>;
namespace internal {
template <typename Self, typename Reducer, bool Vectorize>
struct ScanLauncher<Self, Reducer, GpuDevice, Vectorize>;
}  // namespace internal

}  // namespace Eigen

namespace Eigen::internal {

// Eigen defines this for nvcc only.
template <typename Expression, bool Vectorizable, TiledEvaluation Tiling>
void TensorExecutor<Expression, GpuDevice, Vectorizable, Tiling>::run(
    const Expression& expression, const GpuDevice& device) {
  using Evaluator = TensorEvaluator<Expression, GpuDevice>;
  constexpr int kThreads = 256;
  constexpr StorageIndex kMostBlocks = 64;
  Evaluator evaluator(expression, device);
  if (evaluator.evalSubExprsIfNeeded(nullptr)) {
    const StorageIndex size = array_prod(evaluator.dimensions());
    const StorageIndex blocks =
        std::clamp<StorageIndex>(size / kThreads + 1, 1, kMostBlocks);
    constexpr auto kKernel =
        &::sluice::cuda_emulation::EigenKernel<Evaluator, StorageIndex>;
    gpu_assert(::sluice::EnqueueKernel<kKernel>(
                   "EigenKernel", kKernel, dim3(static_cast<unsigned>(blocks)),
                   dim3(kThreads), 0, device.stream(), evaluator,
                   size) == cudaSuccess);
  }
  evaluator.cleanup();
}

}  // namespace Eigen::internal
