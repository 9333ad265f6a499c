#pragma once

#include <type_traits>

#include "sluice/operators/contraction/matmul_kernel.h"
#include "sluice/operators/math/contraction/device_tiled_gemm.cuh"

namespace sluice::operators {

// The implementation of GEMM: cuBLAS, or our own kernel.
struct CublasGemm {
  template <typename T>
  static void Run(const platform::CUDADeviceContext& device,
                  const math::GemmArgs<T>& args,
                  const math::GemmBatch& batch) {
    math::DeviceGemm<T>(device, args, batch);
  }
};
struct TiledGemm {
  template <typename T>
  static void Run(const platform::CUDADeviceContext& device,
                  const math::GemmArgs<T>& args,
                  const math::GemmBatch& batch) {
    math::DeviceTiledGemm<T>(device, args, batch);
  }
};

// Computes a result on CUDA; MatmulKernel explains `Op` and `Result`.
template <typename Op, typename Result, typename T, typename Gemm>
class MatmulCUDAKernel final : public framework::OpKernel {
 public:
  explicit MatmulCUDAKernel(const framework::OpKernelConstruction& construction)
      : op_(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const framework::KernelQuery& query = preparation.query;
    plan_ = op_.Plan(Result::kResult, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
  }

  void Compute(framework::OpKernelContext& context) const override {
    const auto& device = context.device_context<platform::CUDADeviceContext>();
    framework::Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    if (plan_.k == 0 || plan_.summed.count() == 0) {
      platform::FillZero(device, out.data<T>(), out.bytes());
      return;
    }
    const T* first = context.Input(Result::kFirst).template data<T>();
    const T* second = context.Input(Result::kSecond).template data<T>();
    if (plan_.swapped) std::swap(first, second);
    Multiply(device, first, second, out.data<T>());
  }

 private:
  // One library call covers the innermost dimension of the batch.
  void Multiply(const platform::CUDADeviceContext& device,
                const T* a,
                const T* b,
                T* c) const {
    math::MatMulPlan::Axes outer = plan_.batch;
    math::GemmBatch batch;
    if (outer.rank > 0) {
      const math::MatMulPlan::Axis& last = outer.axis[--outer.rank];
      batch = {last.size, last.a, last.b, last.c};
    }
    for (int64_t i = 0; i < outer.count(); ++i) {
      const math::MatMulPlan::Axis to = outer.At(i);
      for (int64_t term = 0; term < plan_.summed.count(); ++term) {
        const math::MatMulPlan::Axis at = plan_.summed.At(term);
        Gemm::template Run<T>(
            device,
            {plan_.transpose_a, plan_.transpose_b, plan_.m, plan_.n, plan_.k,
             static_cast<T>(op_.alpha()), a + to.a + at.a, plan_.lda,
             b + to.b + at.b, plan_.ldb, static_cast<T>(term == 0 ? 0 : 1),
             c + to.c, plan_.ldc},
            batch);
      }
    }
  }

  Op op_;
  math::MatMulPlan plan_;
  framework::DDim out_dims_;
};

// The cost of both kernels on a GPU that was not measured. Our kernel reads
// each element of both matrices once a tile.
template <typename Op, typename Result, typename Gemm>
framework::KernelWork MatmulCUDAWork(const framework::KernelQuery& query) {
  const math::MatMulPlan plan = MatmulPlanOf<Op, Result>(query);
  const size_t element = platform::SizeOf(query.input_dtypes[0]);
  framework::KernelWork work =
      math::ProductWork(plan, element, math::kGemmTile);
  work.costs = "cuda_matmul";
  if (std::is_same_v<Gemm, TiledGemm>) {
    work.costs = "cuda_tiled_matmul";
    work.bytes += work.flops / math::kGemmTile * static_cast<double>(element);
  }
  return work;
}

}  // namespace sluice::operators
