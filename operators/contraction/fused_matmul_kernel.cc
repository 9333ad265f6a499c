#include <array>
#include <memory>
#include <optional>

#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/contraction/matmul_kernel.h"
#include "sluice/operators/conv/conv2d_pointwise.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/panels.h"
#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/packed_weights.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

// Float kernels of products and of what follows them: a bias, one number a
// column, and a chain of element-wise ops.
namespace sluice {
namespace {

bool IsConstantY(const KernelQuery& query) {
  return query.input_constant.size() > 1 && query.input_constant[1] != 0;
}

// The ops after a product.
class Rest {
 public:
  void Prepare(const KernelQuery& query) {
    if (StepsOf(query.op).empty()) return;
    chain_ = ReadChain<float>(query);
    first_operand_ = query.inputs.size() - chain_.operands();
  }

  using Operands = std::array<const float*, kMaxChainOperands>;
  Operands OperandsOf(const OpKernelContext& context) const {
    return ChainOperandsOf<float>(context, first_operand_, chain_.operands());
  }
  OutputChain<float> ChainOf(const Operands& operands) const {
    return {chain_.empty() ? nullptr : &chain_, operands};
  }

 private:
  Chain<float> chain_;
  size_t first_operand_ = 0;
};

const float* BiasOf(const OpKernelContext& context) {
  return context.HasInput("Bias") ? context.Input("Bias").data<float>()
                                  : nullptr;
}

// Computes the product as MatmulKernel does, and then the rest.
template <typename Op, typename T>
class FusedMatmulKernel final : public OpKernel {
 public:
  explicit FusedMatmulKernel(const OpKernelConstruction& construction)
      : op_(construction) {}

  static KernelTraits AdaptTraits(KernelTraits traits) {
    return traits.Estimate(&Work);
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = op_.Plan(MatMulResult::kOut, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
    rest_.Prepare(query);
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    const int64_t count = out.numel();
    if (count == 0) return;
    auto* const to = out.data<T>();
    MatMul(plan_, static_cast<T>(op_.alpha()), context.Input(0).data<T>(),
           context.Input(1).data<T>(), to);
    const T* const bias = BiasOf(context);
    const auto operands = rest_.OperandsOf(context);
    const OutputChain<T> chain = rest_.ChainOf(operands);
    const int rank = out_dims_.rank();
    const int64_t columns = rank == 0 ? 1 : out_dims_[rank - 1];
    constexpr int64_t kShard = 1 << 15;
    ParallelFor(count / columns, 1 + kShard / columns,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t at = row * columns;
                    if (bias != nullptr) {
                      AddContiguous<T>(to + at, bias, columns, to + at);
                    }
                  }
                  chain.Apply(begin * columns, (end - begin) * columns, to);
                });
  }

 private:
  static KernelWork Work(const KernelQuery& query) {
    KernelWork work = MatmulWork<Op, MatmulOut>(query);
    work.extra_bytes += OperandBytes(query);
    return work;
  }

  Op op_;
  MatMulPlan plan_;
  DDim out_dims_;
  Rest rest_;
};

// A product with one constant matrix is a convolution of 1x1 with channels
// last, whose pixels are the rows.
Conv2dGeometry GeometryOf(const MatMulPlan& plan) {
  Conv2dGeometry g;
  g.n = g.in_h = g.out_h = 1;
  g.in_w = g.out_w = plan.m;
  g.in_c = plan.k;
  g.out_c = plan.n;
  g.nhwc = true;
  return g;
}

size_t PackedSize(const MatMulPlan& plan) {
  return static_cast<size_t>(plan.k * PaddedColumns(plan.n)) * sizeof(float);
}

// Packs Y into panels.
void PackY(const MatMulPlan& plan, const float* y, float* packed) {
  const int64_t panels = PaddedColumns(plan.n) / PanelColumns();
  ParallelFor(panels, 1, [&](int64_t begin, int64_t end) {
    if (plan.transpose_b) {
      PackPanels(y, plan.k, plan.n, nullptr, begin, end, packed);
    } else {
      PackPanelsOfRows(y, plan.k, plan.n, begin, end, packed);
    }
  });
}

class PanelsOfY final : public Packing {
 public:
  explicit PanelsOfY(const MatMulPlan& plan)
      : Packing(Format("panels {} to {}{}",
                       plan.k,
                       plan.n,
                       plan.transpose_b ? " transposed" : "")),
        plan_(plan) {}

  Tensor Make(std::span<const Tensor* const> parameters,
              int threads) const override {
    Tensor packed = PackedBytes(PackedSize(plan_));
    const ThreadCountGuard guard(threads);
    PackY(plan_, parameters[0]->data<float>(),
          static_cast<float*>(packed.raw_data()));
    return packed;
  }

 private:
  MatMulPlan plan_;
};

// Computes products with one Y, which is packed once if it is constant.
template <typename Op, typename T>
class PanelMatmulKernel final : public OpKernel {
 public:
  explicit PanelMatmulKernel(const OpKernelConstruction& construction)
      : op_(construction) {}

  static KernelTraits AdaptTraits(KernelTraits traits) {
    return traits.Estimate(&Work).When(&Refusal);
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    const int threads = preparation.num_threads;
    product_ = op_.Plan(MatMulResult::kOut, query.inputs[0], query.inputs[1]);
    plan_ = PlanConv2dPointwise(GeometryOf(product_), threads);
    out_dims_ = query.outputs[0];
    if (IsConstantY(query)) {
      y_.emplace(std::make_shared<const PanelsOfY>(product_), threads);
    } else {
      preparation.scratch_bytes = PackedSize(product_);
    }
    rest_.Prepare(query);
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    const Tensor& y = context.Input(1);
    std::shared_ptr<const PackedWeights> kept;
    if (y_) kept = y_->Get(std::array{&y});
    auto* const packed = static_cast<T*>(y_ ? kept->data() : context.scratch());
    if (!y_) PackY(product_, y.data<T>(), packed);
    const auto operands = rest_.OperandsOf(context);
    Conv2dPointwise(plan_, context.Input(0).data<T>(), packed, BiasOf(context),
                    rest_.ChainOf(operands), out.data<T>());
  }

 private:
  static std::string Refusal(const KernelQuery& query) {
    constexpr int64_t kMostTerms = 1 << 16;
    const MatMulPlan plan = MatmulPlanOf<Op, MatmulOut>(query);
    if (plan.batch.count() != 1 || plan.summed.count() != 1 ||
        plan.transpose_a || plan.lda != plan.k || plan.ldc != plan.n) {
      return "needs the rows of one matrix X and one matrix Y";
    }
    if (Op(query).alpha() != 1) {
      return Format("needs alpha = 1, got {}", Op(query).alpha());
    }
    if (plan.k <= kMostTerms) return "";
    return Format("needs at most {} terms, got {}", kMostTerms, plan.k);
  }

  static KernelWork Work(const KernelQuery& query) {
    KernelWork work = Conv2dPointwiseWork(
        GeometryOf(MatmulPlanOf<Op, MatmulOut>(query)), IsConstantY(query));
    work.costs = "matmul_panels";
    work.extra_bytes += OperandBytes(query);
    return work;
  }

  Op op_;
  MatMulPlan product_;
  Conv2dPointwisePlan plan_;
  DDim out_dims_;
  std::optional<KeptWeights> y_;  // none: packed in each call
  Rest rest_;
};

}  // namespace

REGISTER_OP_KERNEL(fused_matmul,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits(),
                   FusedMatmulKernel<Matmul, float>);
REGISTER_OP_KERNEL(fused_mul,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits(),
                   FusedMatmulKernel<Mul, float>);
REGISTER_OP_KERNEL(matmul,
                   PLAIN,
                   CPUPlace,
                   panels,
                   KernelTraits(),
                   PanelMatmulKernel<Matmul, float>);
REGISTER_OP_KERNEL(mul,
                   PLAIN,
                   CPUPlace,
                   panels,
                   KernelTraits(),
                   PanelMatmulKernel<Mul, float>);
REGISTER_OP_KERNEL(fused_matmul,
                   PLAIN,
                   CPUPlace,
                   panels,
                   KernelTraits(),
                   PanelMatmulKernel<Matmul, float>);
REGISTER_OP_KERNEL(fused_mul,
                   PLAIN,
                   CPUPlace,
                   panels,
                   KernelTraits(),
                   PanelMatmulKernel<Mul, float>);

}  // namespace sluice
