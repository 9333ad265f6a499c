#include <type_traits>

#include "sluice/operators/contraction/matmul_kernel.h"
#include "sluice/operators/math/contraction/device_tiled_gemm.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// The implementation of GEMM: cuBLAS, or our own kernel.
struct CublasGemm {
  template <typename T>
  static void Run(const CUDADeviceContext& device,
                  const GemmArgs<T>& args,
                  const GemmBatch& batch) {
    DeviceGemm<T>(device, args, batch);
  }
};
struct TiledGemm {
  template <typename T>
  static void Run(const CUDADeviceContext& device,
                  const GemmArgs<T>& args,
                  const GemmBatch& batch) {
    DeviceTiledGemm<T>(device, args, batch);
  }
};

// The cost of both kernels on a GPU that was not measured. Our kernel reads
// each element of both matrices once a tile.
template <typename Op, typename Result, typename Gemm>
KernelWork MatmulCUDAWork(const KernelQuery& query) {
  const MatMulPlan plan = MatmulPlanOf<Op, Result>(query);
  const size_t element = SizeOf(query.input_dtypes[0]);
  KernelWork work = ProductWork(plan, element, kGemmTile);
  work.costs = "cuda_matmul";
  if (std::is_same_v<Gemm, TiledGemm>) {
    work.costs = "cuda_tiled_matmul";
    work.bytes += work.flops / kGemmTile * static_cast<double>(element);
  }
  return work;
}

// Computes a result on CUDA; MatmulKernel explains `Op` and `Result`.
template <typename Op, typename Result, typename T, typename Gemm>
class MatmulCUDAKernel final : public OpKernel {
 public:
  explicit MatmulCUDAKernel(const OpKernelConstruction& construction)
      : op_(construction) {}

  static KernelTraits AdaptTraits(KernelTraits traits) {
    return traits.Estimate(&MatmulCUDAWork<Op, Result, Gemm>);
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = op_.Plan(Result::kResult, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    if (plan_.k == 0 || plan_.summed.count() == 0) {
      FillZero(device, out.data<T>(), out.bytes());
      return;
    }
    const T* first = context.Input(Result::kFirst).template data<T>();
    const T* second = context.Input(Result::kSecond).template data<T>();
    if (plan_.swapped) std::swap(first, second);
    Multiply(device, first, second, out.data<T>());
  }

 private:
  // One library call covers the innermost dimension of the batch.
  void Multiply(const CUDADeviceContext& device,
                const T* a,
                const T* b,
                T* c) const {
    MatMulPlan::Axes outer = plan_.batch;
    GemmBatch batch;
    if (outer.rank > 0) {
      const MatMulPlan::Axis& last = outer.axis[--outer.rank];
      batch = {last.size, last.a, last.b, last.c};
    }
    for (int64_t i = 0; i < outer.count(); ++i) {
      const MatMulPlan::Axis to = outer.At(i);
      for (int64_t term = 0; term < plan_.summed.count(); ++term) {
        const MatMulPlan::Axis at = plan_.summed.At(term);
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
  MatMulPlan plan_;
  DDim out_dims_;
};

template <typename Op>
using Cublas = MatmulCUDAKernel<Op, MatmulOut, FloatTypes, CublasGemm>;
template <typename Op>
using CublasX = MatmulCUDAKernel<Op, MatmulXGrad, FloatTypes, CublasGemm>;
template <typename Op>
using CublasY = MatmulCUDAKernel<Op, MatmulYGrad, FloatTypes, CublasGemm>;
template <typename Op, typename Result>
using Tiled = MatmulCUDAKernel<Op, Result, FloatTypes, TiledGemm>;

}  // namespace

REGISTER_OP_KERNEL(
    matmul, CUBLAS, CUDAPlace, gemm, KernelTraits(), Cublas<Matmul>);
REGISTER_OP_KERNEL(
    matmul_grad_x, CUBLAS, CUDAPlace, gemm, KernelTraits(), CublasX<Matmul>);
REGISTER_OP_KERNEL(
    matmul_grad_y, CUBLAS, CUDAPlace, gemm, KernelTraits(), CublasY<Matmul>);
REGISTER_OP_KERNEL(mul, CUBLAS, CUDAPlace, gemm, KernelTraits(), Cublas<Mul>);
REGISTER_OP_KERNEL(
    mul_grad_x, CUBLAS, CUDAPlace, gemm, KernelTraits(), CublasX<Mul>);
REGISTER_OP_KERNEL(
    mul_grad_y, CUBLAS, CUDAPlace, gemm, KernelTraits(), CublasY<Mul>);

REGISTER_OP_CUDA_KERNEL(matmul, Tiled<Matmul, MatmulOut>);
REGISTER_OP_CUDA_KERNEL(matmul_grad_x, Tiled<Matmul, MatmulXGrad>);
REGISTER_OP_CUDA_KERNEL(matmul_grad_y, Tiled<Matmul, MatmulYGrad>);
REGISTER_OP_CUDA_KERNEL(mul, Tiled<Mul, MatmulOut>);
REGISTER_OP_CUDA_KERNEL(mul_grad_x, Tiled<Mul, MatmulXGrad>);
REGISTER_OP_CUDA_KERNEL(mul_grad_y, Tiled<Mul, MatmulYGrad>);

}  // namespace sluice
