#pragma once

#include "sluice/operators/contraction/matmul.h"
#include "sluice/operators/registration.h"

namespace sluice {

// The result that a kernel of matmul, mul or their gradient ops computes, and
// the positions in the schema of the two inputs that it reads.
struct MatmulOut {
  static constexpr auto kResult = MatMulResult::kOut;
  static constexpr int kFirst = 0, kSecond = 1;  // X, Y
};
struct MatmulXGrad {
  static constexpr auto kResult = MatMulResult::kXGrad;
  static constexpr int kFirst = 2, kSecond = 1;  // Out@GRAD, Y
};
struct MatmulYGrad {
  static constexpr auto kResult = MatMulResult::kYGrad;
  static constexpr int kFirst = 0, kSecond = 2;  // X, Out@GRAD
};

// The operands of op matmul.
class Matmul {
 public:
  // `attributes` is an OpKernelConstruction or a KernelQuery.
  template <typename Attributes>
  explicit Matmul(const Attributes& attributes)
      : transpose_x_(attributes.template Attr<bool>("transpose_X")),
        transpose_y_(attributes.template Attr<bool>("transpose_Y")),
        alpha_(attributes.template Attr<double>("alpha")) {}

  double alpha() const { return alpha_; }

  MatMulPlan Plan(MatMulResult result, const DDim& x, const DDim& y) const {
    return PlanMatMul(result, x, y, transpose_x_, transpose_y_);
  }

 private:
  bool transpose_x_;
  bool transpose_y_;
  double alpha_;
};

// The operands of op mul: X and Y, each flattened into a matrix.
class Mul {
 public:
  template <typename Attributes>
  explicit Mul(const Attributes& attributes)
      : x_num_col_dims_(attributes.template Attr<int64_t>("x_num_col_dims")),
        y_num_col_dims_(attributes.template Attr<int64_t>("y_num_col_dims")) {}

  static double alpha() { return 1; }

  MatMulPlan Plan(MatMulResult result, const DDim& x, const DDim& y) const {
    return PlanMatMul(result, Flatten(x, x_num_col_dims_),
                      Flatten(y, y_num_col_dims_), false, false);
  }

 private:
  static DDim Flatten(const DDim& dims, int64_t row_dims) {
    const auto split = static_cast<int>(row_dims);
    return {dims.Product(0, split), dims.Product(split, dims.rank())};
  }

  int64_t x_num_col_dims_;
  int64_t y_num_col_dims_;
};

// Returns the plan of the product for a query.
template <typename Op, typename Result>
MatMulPlan MatmulPlanOf(const KernelQuery& query) {
  return Op(query).Plan(Result::kResult, query.inputs[0], query.inputs[1]);
}

// Returns the cost of MatmulKernel.
template <typename Op, typename Result>
KernelWork MatmulWork(const KernelQuery& query) {
  return MatMulWork(MatmulPlanOf<Op, Result>(query),
                    SizeOf(query.input_dtypes[0]));
}

// Computes the result `Result` on the CPU. `Op` describes the operands and is
// made from the construction; it has alpha(), and Plan(result, X's shape, Y's
// shape).
template <typename Op, typename Result, typename T>
class MatmulKernel final : public OpKernel {
 public:
  explicit MatmulKernel(const OpKernelConstruction& construction)
      : op_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = op_.Plan(Result::kResult, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    MatMul(plan_, static_cast<T>(op_.alpha()),
           context.Input(Result::kFirst).template data<T>(),
           context.Input(Result::kSecond).template data<T>(), out.data<T>());
  }

 private:
  Op op_;
  MatMulPlan plan_;
  DDim out_dims_;
};

}  // namespace sluice
