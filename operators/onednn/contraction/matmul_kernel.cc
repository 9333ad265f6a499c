#include "sluice/operators/contraction/matmul_kernel.h"

#include <algorithm>

#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/onednn/sequence.h"
#include "sluice/operators/onednn/vector_width.h"
#include "sluice/operators/registration.h"

namespace sluice::onednn {
namespace {

using Axis = MatMulPlan::Axis;

// Describes one of the matrices: [batch..., rows, columns] with strides.
Desc Matrices(const MatMulPlan& plan,
              int64_t Axis::*step,
              int64_t rows,
              int64_t columns,
              int64_t row_step,
              bool transposed,
              DType dtype) {
  Dims sizes, steps;
  for (int i = 0; i < plan.batch.rank; ++i) {
    const Axis& axis = plan.batch.axis[i];
    // oneDNN expects a size of 1 where matrices are broadcast.
    const bool repeated = axis.*step == 0;
    sizes.push_back(repeated ? 1 : axis.size);
    steps.push_back(repeated ? 1 : axis.*step);
  }
  sizes.insert(sizes.end(), {rows, columns});
  if (transposed) {
    steps.insert(steps.end(), {1, std::max(row_step, rows)});
  } else {
    steps.insert(steps.end(), {std::max(row_step, columns), 1});
  }
  // Unused strides must not affect the order that oneDNN derives.
  int64_t outer = sizes.end()[-1] * sizes.end()[-2];
  for (int i = plan.batch.rank - 1; i >= 0; --i) {
    if (sizes[i] == 1) steps[i] = outer;
    outer = steps[i] * sizes[i];
  }
  return {sizes, ToDnnl(dtype), steps};
}

template <typename Op, typename Result>
KernelWork Work(const KernelQuery& query);

// Without AVX-512 oneDNN adds up the terms of few rows one after the other. Of
// two million of one sign that loses four digits.
template <typename Op, typename Result>
std::string Refusal(const KernelQuery& query) {
  constexpr int64_t kMostTerms = int64_t{1} << 19;
  std::string refusal = FitsOneDnn(query);
  if (!refusal.empty() || WideVectors()) return refusal;
  const int64_t terms = MatmulPlanOf<Op, Result>(query).k;
  if (terms <= kMostTerms) return "";
  return Format("loses digits in sums of over {} terms, here {}", kMostTerms,
                terms);
}

// Computes a result as operators/contraction/matmul_kernel.h does.
template <typename Op, typename Result, typename T>
class MatmulSequence final : public SequenceKernel {
 public:
  explicit MatmulSequence(const OpKernelConstruction& construction)
      : op_(construction) {}

  static KernelTraits AdaptTraits(KernelTraits traits) {
    return traits.Estimate(&Work<Op, Result>).When(&Refusal<Op, Result>);
  }

 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    const MatMulPlan plan =
        op_.Plan(Result::kResult, query.inputs[0], query.inputs[1]);
    SLUICE_ENFORCE(plan.summed.count() == 1, ErrorCode::kUnimplemented,
                   "onednn.matmul_sum",
                   "{}: oneDNN's matmul does not sum over repeated matrices",
                   query.op.type);
    constexpr auto kType = kDTypeOf<T>;
    const Desc a = Matrices(plan, &Axis::a, plan.m, plan.k, plan.lda,
                            plan.transpose_a, kType);
    const Desc b = Matrices(plan, &Axis::b, plan.k, plan.n, plan.ldb,
                            plan.transpose_b, kType);
    const Desc c =
        Matrices(plan, &Axis::c, plan.m, plan.n, plan.ldc, false, kType);
    CompileFor compile_for = builder.compile_for();
    compile_for.post_ops.scale = op_.alpha();
    const Activation activation = FirstActivation(query.op);
    compile_for.post_ops.activation = activation;
    const int first = plan.swapped ? Result::kSecond : Result::kFirst;
    const int second = plan.swapped ? Result::kFirst : Result::kSecond;
    // Constants are packed once, in the layout that oneDNN prefers.
    const Desc wanted = builder.IsConstant(second)
                            ? Desc(b.get_dims(), ToDnnl(kType), Tag::any)
                            : b;
    const bool has_bias = builder.HasInput("Bias");
    const Desc bias = has_bias ? Bias(plan, query, kType) : Desc();
    const auto matmul =
        has_bias
            ? Compile<dnnl::matmul>(compile_for, "matmul", a, wanted, bias, c)
            : Compile<dnnl::matmul>(compile_for, "matmul", a, wanted, c);
    const auto weights =
        builder.In(builder.Input(second, b), matmul->Wants(DNNL_ARG_WEIGHTS));
    const auto output = builder.Output(0, c);
    std::vector<std::pair<int, SequenceBuilder::Value>> arguments = {
        {DNNL_ARG_SRC, builder.Input(first, a)},
        {DNNL_ARG_WEIGHTS, weights},
        {DNNL_ARG_DST, output}};
    if (has_bias) {
      arguments.emplace_back(DNNL_ARG_BIAS, builder.Input("Bias", bias));
    }
    builder.Add("matmul", matmul, std::move(arguments));
    builder.Chain<T>(output, activation == Activation::kNone ? 0 : 1);
  }

  // Describes a bias of one number a column. oneDNN adds it before it scales.
  Desc Bias(const MatMulPlan& plan,
            const KernelQuery& query,
            DType dtype) const {
    const DDim& bias = query.inputs[2];
    SLUICE_ENFORCE(!plan.swapped && op_.alpha() == 1 && bias[0] == plan.n,
                   ErrorCode::kUnimplemented, "onednn.matmul_bias",
                   "{}: oneDNN's matmul adds one number to each of {} columns "
                   "of products that nothing multiplies, got a bias {} and "
                   "alpha = {}",
                   query.op.type, plan.n, bias, op_.alpha());
    Dims sizes(plan.batch.rank + 1, 1);
    sizes.push_back(plan.n);
    Dims steps(plan.batch.rank + 1, plan.n);
    steps.push_back(1);
    return {sizes, ToDnnl(dtype), steps};
  }

  Op op_;
};

// The second matrix is copied if it is transposed or if its rows map to few
// sets of the first-level cache. A transposed first matrix is copied. A
// constant is packed once.
template <typename Op, typename Result>
KernelWork Work(const KernelQuery& query) {
  const MatMulPlan plan = MatmulPlanOf<Op, Result>(query);
  const size_t element = SizeOf(query.input_dtypes[0]);
  KernelWork work = ProductWork(plan, element, WideVectors() ? 16 : 8);
  const auto count = static_cast<double>(plan.batch.count());
  const int second = plan.swapped ? Result::kFirst : Result::kSecond;
  const bool constant =
      !query.input_constant.empty() && query.input_constant[second] != 0;
  const auto k = static_cast<double>(plan.k);
  const bool aliased =
      AliasedReads(plan.ldb * static_cast<int64_t>(element)) > 0;
  // With few sums, the latency of each is not hidden.
  const int64_t sums = plan.m * std::min<int64_t>((plan.n + 15) / 16, 4);
  work.flops *=
      std::max(6 / static_cast<double>(std::max<int64_t>(sums, 1)), 1.0);
  // A packed matrix is read sequentially instead of row by row.
  work.costs = constant ? "onednn_matmul_packed" : "onednn_matmul";
  work.library_calls = 1;
  work.extra_bytes = OperandBytes(query);
  work.products = count - 1;
  if (!constant && (plan.transpose_b || aliased)) {
    work.packed = count * k * static_cast<double>(plan.n);
    work.library_calls = 2;
  }
  if (plan.transpose_a) {
    work.transposed = count * k * static_cast<double>(plan.m);
  }
  work.prepare_seconds = work.library_calls * kPrimitiveSeconds;
  return work;
}

template <typename Op>
using MatmulProduct = MatmulSequence<Op, MatmulOut, FloatAndBFloat16>;
template <typename Op>
using XGradProduct = MatmulSequence<Op, MatmulXGrad, float>;
template <typename Op>
using YGradProduct = MatmulSequence<Op, MatmulYGrad, float>;

}  // namespace

REGISTER_OP_KERNEL(
    matmul, ONEDNN, CPUPlace, matmul, KernelTraits(), MatmulProduct<Matmul>);
REGISTER_OP_KERNEL(fused_matmul,
                   ONEDNN,
                   CPUPlace,
                   matmul,
                   KernelTraits(),
                   MatmulProduct<Matmul>);
REGISTER_OP_KERNEL(
    fused_mul, ONEDNN, CPUPlace, matmul, KernelTraits(), MatmulProduct<Mul>);
REGISTER_OP_KERNEL(matmul_grad_x,
                   ONEDNN,
                   CPUPlace,
                   matmul,
                   KernelTraits(),
                   XGradProduct<Matmul>);
REGISTER_OP_KERNEL(matmul_grad_y,
                   ONEDNN,
                   CPUPlace,
                   matmul,
                   KernelTraits(),
                   YGradProduct<Matmul>);
REGISTER_OP_KERNEL(
    mul, ONEDNN, CPUPlace, matmul, KernelTraits(), MatmulProduct<Mul>);
REGISTER_OP_KERNEL(
    mul_grad_x, ONEDNN, CPUPlace, matmul, KernelTraits(), XGradProduct<Mul>);
REGISTER_OP_KERNEL(
    mul_grad_y, ONEDNN, CPUPlace, matmul, KernelTraits(), YGradProduct<Mul>);

}  // namespace sluice::onednn
