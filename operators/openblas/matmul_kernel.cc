#include "sluice/operators/contraction/matmul_kernel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <cblas.h>

#include "sluice/operators/math/work.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::openblas {
namespace {

// Rows of a result that one call computes, so that bits do not depend on the
// number of threads.
constexpr int64_t kBlock = 192;

int64_t Blocks(const MatMulPlan& plan) {
  return (plan.m + kBlock - 1) / kBlock;
}

// One call of OpenBLAS: `m` rows of a product.
struct Call {
  CBLAS_TRANSPOSE transpose_a, transpose_b;
  blasint m, n, k, lda, ldb, ldc;
};

void Gemm(
    const Call& c, double alpha, const float* a, const float* b, float* out) {
  cblas_sgemm(CblasRowMajor, c.transpose_a, c.transpose_b, c.m, c.n, c.k,
              static_cast<float>(alpha), a, c.lda, b, c.ldb, 0, out, c.ldc);
}

void Gemm(const Call& c,
          double alpha,
          const double* a,
          const double* b,
          double* out) {
  cblas_dgemm(CblasRowMajor, c.transpose_a, c.transpose_b, c.m, c.n, c.k, alpha,
              a, c.lda, b, c.ldb, 0, out, c.ldc);
}

// `Op` describes the operands: Matmul or Mul.
template <typename Op, typename T>
class OpenBlasMatmul final : public OpKernel {
 public:
  explicit OpenBlasMatmul(const OpKernelConstruction& construction)
      : op_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = op_.Plan(MatMulResult::kOut, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
    const auto size = [](int64_t value) { return static_cast<blasint>(value); };
    call_ = {plan_.transpose_a ? CblasTrans : CblasNoTrans,
             plan_.transpose_b ? CblasTrans : CblasNoTrans,
             0,
             size(plan_.n),
             size(plan_.k),
             size(plan_.lda),
             size(plan_.ldb),
             size(plan_.ldc)};
  }

  void Compute(OpKernelContext& context) const override {
    const MatMulPlan& p = plan_;
    const T* a = context.Input(0).template data<T>();
    const T* b = context.Input(1).template data<T>();
    if (p.swapped) std::swap(a, b);
    T* c = context.AllocateOutput(0, out_dims_).template data<T>();
    const int64_t blocks = Blocks(p);
    // Fewer than a million products are not worth a second thread.
    const int64_t grain =
        1'000'000 / std::max<int64_t>(std::min(kBlock, p.m) * p.n * p.k, 1);
    ParallelFor(p.batch.count() * blocks, grain,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const MatMulPlan::Axis at = p.batch.At(i / blocks);
                    const int64_t row = i % blocks * kBlock;
                    Call call = call_;
                    call.m = static_cast<blasint>(std::min(kBlock, p.m - row));
                    Gemm(call, op_.alpha(),
                         a + at.a + row * (p.transpose_a ? 1 : p.lda), b + at.b,
                         c + at.c + row * p.ldc);
                  }
                });
  }

 private:
  Op op_;
  MatMulPlan plan_;
  Call call_ = {};
  DDim out_dims_;
};

// OpenBLAS computes no product if alpha is 0, so that NaN would be lost, has
// sizes of 32 bits, and adds up the terms of products with vectors one after
// the other, which loses digits.
template <typename Op>
std::string Refusal(const KernelQuery& query) {
  if (query.inputs[0].numel() == 0 || query.inputs[1].numel() == 0) {
    return "takes no empty matrices";
  }
  if (static_cast<float>(Op(query).alpha()) == 0) {
    return "takes no alpha of 0 in float32";
  }
  const MatMulPlan p = MatmulPlanOf<Op, MatmulOut>(query);
  constexpr int64_t kMostTerms = int64_t{1} << 15;
  if (p.k > kMostTerms) {
    return Format("loses digits in sums of over {} terms, here {}", kMostTerms,
                  p.k);
  }
  const int64_t largest = std::max({p.n, p.k, p.lda, p.ldb, p.ldc});
  return largest > std::numeric_limits<blasint>::max()
             ? "takes sizes below 2^31"
             : "";
}

// Both operands are copied into panels, the second for each call.
template <typename Op>
KernelWork Work(const KernelQuery& query) {
  const MatMulPlan plan = MatmulPlanOf<Op, MatmulOut>(query);
  const size_t element = SizeOf(query.input_dtypes[0]);
  KernelWork work = ProductWork(plan, element, VectorLanes(element));
  work.extra_bytes = work.bytes;
  work.library_calls = static_cast<double>(plan.batch.count() * Blocks(plan));
  work.max_threads = work.library_calls;
  work.packed = work.library_calls * static_cast<double>(plan.k * plan.n);
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(
    matmul,
    OPENBLAS,
    CPUPlace,
    gemm,
    KernelTraits().Estimate(&Work<Matmul>).When(&Refusal<Matmul>),
    OpenBlasMatmul<Matmul, FloatTypes>);
REGISTER_OP_KERNEL(mul,
                   OPENBLAS,
                   CPUPlace,
                   gemm,
                   KernelTraits().Estimate(&Work<Mul>).When(&Refusal<Mul>),
                   OpenBlasMatmul<Mul, FloatTypes>);

}  // namespace sluice::openblas
