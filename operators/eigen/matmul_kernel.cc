#include "sluice/operators/contraction/matmul_kernel.h"

#include <Eigen/Core>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/work.h"
#include "sluice/platform/error.h"

namespace sluice::eigen {
namespace {

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// `Op` describes the operands: Matmul or Mul.
template <typename Op, typename T>
class EigenMatmul final : public OpKernel {
 public:
  explicit EigenMatmul(const OpKernelConstruction& construction)
      : op_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = op_.Plan(MatMulResult::kOut, query.inputs[0], query.inputs[1]);
    SLUICE_ENFORCE(plan_.batch.rank == 0, ErrorCode::kUnimplemented,
                   "eigen.matmul_batch",
                   "{}: Eigen multiplies two matrices, got a batch of {}",
                   query.op.type, plan_.batch.count());
    out_dims_ = query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const MatMulPlan& p = plan_;
    const auto a = Stored(context.Input(0), p.transpose_a, p.m, p.k, p.lda);
    const auto b = Stored(context.Input(1), p.transpose_b, p.k, p.n, p.ldb);
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    Eigen::Map<Matrix<T>> c(out, p.m, p.n);
    const T alpha = static_cast<T>(op_.alpha());
    if (p.transpose_a && p.transpose_b) {
      c.noalias() = alpha * a.transpose() * b.transpose();
    } else if (p.transpose_a) {
      c.noalias() = alpha * a.transpose() * b;
    } else if (p.transpose_b) {
      c.noalias() = alpha * a * b.transpose();
    } else {
      c.noalias() = alpha * a * b;
    }
  }

 private:
  using Map = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;

  // Maps a matrix as stored in memory, transposed or not.
  static Map Stored(const Tensor& tensor,
                    bool transposed,
                    int64_t rows,
                    int64_t columns,
                    int64_t step) {
    if (transposed) std::swap(rows, columns);
    return Map(tensor.data<T>(), rows, columns, Eigen::OuterStride<>(step));
  }

  Op op_;
  MatMulPlan plan_;
  DDim out_dims_;
};

// Eigen adds up the terms of a product one after the other, which loses digits:
// with a million terms of one sign 1 % of the sum.
template <typename Op>
std::string Refusal(const KernelQuery& query) {
  constexpr int64_t kMostTerms = 4096;
  if (query.inputs[0].numel() == 0 || query.inputs[1].numel() == 0) {
    return "takes no empty matrices";
  }
  const int64_t terms = MatmulPlanOf<Op, MatmulOut>(query).k;
  return terms <= kMostTerms
             ? ""
             : Format("loses digits in sums of over {} terms, here {}",
                      kMostTerms, terms);
}

// A single thread multiplies, in vectors of 16 bytes, without multiply-add if
// the machine has wider ones. For two matrices, both are copied into blocks.
template <typename Op>
KernelWork Work(const KernelQuery& query) {
  const MatMulPlan plan = MatmulPlanOf<Op, MatmulOut>(query);
  const size_t element = SizeOf(query.input_dtypes[0]);
  const auto lanes = static_cast<int64_t>(16 / element);
  const double share =
      static_cast<double>(lanes) / static_cast<double>(VectorLanes(element));
  KernelWork work = ProductWork(plan, element, lanes);
  work.costs = "eigen_matmul";
  work.max_threads = 1;
  if (plan.n == 1) {
    const auto rows = static_cast<double>(plan.m);
    work.flops = 2 * rows * Padded(plan.k, lanes);
    work.dots = rows;
  } else if (plan.m > 1) {
    work.extra_bytes = work.bytes;
  }
  if (share < 1) work.flops *= 2 / share;
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(
    matmul,
    EIGEN,
    CPUPlace,
    eigen,
    KernelTraits().Estimate(&Work<Matmul>).When(&Refusal<Matmul>),
    EigenMatmul<Matmul, FloatTypes>);
REGISTER_OP_KERNEL(mul,
                   EIGEN,
                   CPUPlace,
                   eigen,
                   KernelTraits().Estimate(&Work<Mul>).When(&Refusal<Mul>),
                   EigenMatmul<Mul, FloatTypes>);

}  // namespace sluice::eigen
