#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/contraction/matmul.h"
#include "sluice/operators/math/contraction/matmul_work.h"

namespace sluice::operators {

// The result that a kernel of matmul, mul or their gradient ops computes, and
// the positions in the schema of the two inputs that it reads.
struct MatmulOut {
  static constexpr auto kPart = math::MatMulPart::kOut;
  static constexpr int kFirst = 0, kSecond = 1;  // X, Y
};
struct MatmulXGrad {
  static constexpr auto kPart = math::MatMulPart::kXGrad;
  static constexpr int kFirst = 2, kSecond = 1;  // Out@GRAD, Y
};
struct MatmulYGrad {
  static constexpr auto kPart = math::MatMulPart::kYGrad;
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

  math::MatMulPlan Plan(math::MatMulPart part,
                        const framework::DDim& x,
                        const framework::DDim& y) const {
    return math::PlanMatMul(part, x, y, transpose_x_, transpose_y_);
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

  math::MatMulPlan Plan(math::MatMulPart part,
                        const framework::DDim& x,
                        const framework::DDim& y) const {
    return math::PlanMatMul(part, Flatten(x, x_num_col_dims_),
                            Flatten(y, y_num_col_dims_), false, false);
  }

 private:
  static framework::DDim Flatten(const framework::DDim& dims,
                                 int64_t row_dims) {
    const auto split = static_cast<int>(row_dims);
    return {dims.Product(0, split), dims.Product(split, dims.rank())};
  }

  int64_t x_num_col_dims_;
  int64_t y_num_col_dims_;
};

// Returns the plan of the product for a query.
template <typename Op, typename Part>
math::MatMulPlan MatmulPlanOf(const framework::KernelQuery& query) {
  return Op(query).Plan(Part::kPart, query.inputs[0], query.inputs[1]);
}

// Returns the cost of MatmulKernel.
template <typename Op, typename Part>
framework::KernelWork MatmulWork(const framework::KernelQuery& query) {
  return math::MatMulWork(MatmulPlanOf<Op, Part>(query),
                          platform::SizeOf(query.input_dtypes[0]));
}

// Computes the result `Part` on the CPU. `Op` describes the operands and is
// made from the construction; it has alpha(), and Plan(part, X's shape, Y's
// shape).
template <typename Op, typename Part, typename T>
class MatmulKernel final : public framework::OpKernel {
 public:
  explicit MatmulKernel(const framework::OpKernelConstruction& construction)
      : op_(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const framework::KernelQuery& query = preparation.query;
    plan_ = op_.Plan(Part::kPart, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
  }

  void Compute(framework::OpKernelContext& context) const override {
    framework::Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    math::MatMul(plan_, static_cast<T>(op_.alpha()),
                 context.Input(Part::kFirst).template data<T>(),
                 context.Input(Part::kSecond).template data<T>(),
                 out.data<T>());
  }

 private:
  Op op_;
  math::MatMulPlan plan_;
  framework::DDim out_dims_;
};

// Computes float16 and bfloat16 as MatmulKernel does: in float32, rounded once.
template <typename Op, typename Part, typename T>
class HalfMatmulKernel final : public framework::OpKernel {
 public:
  explicit HalfMatmulKernel(const framework::OpKernelConstruction& construction)
      : op_(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const framework::KernelQuery& query = preparation.query;
    plan_ = op_.Plan(Part::kPart, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
    preparation.scratch_bytes =
        sizeof(float) *
        static_cast<size_t>(query.inputs[Part::kFirst].numel() +
                            query.inputs[Part::kSecond].numel() +
                            out_dims_.numel());
  }

  void Compute(framework::OpKernelContext& context) const override {
    framework::Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    auto* const first = static_cast<float*>(context.scratch());
    float* const second = Widen(context.Input(Part::kFirst), first);
    float* const product = Widen(context.Input(Part::kSecond), second);
    math::MatMul(plan_, static_cast<float>(op_.alpha()), first, second,
                 product);
    math::Cast(product, out.numel(), out.dtype(), out.raw_data());
  }

 private:
  // Converts `x` to float32 at `to` and returns the end of the elements.
  static float* Widen(const framework::Tensor& x, float* to) {
    math::Cast(x.data<T>(), x.numel(), platform::DType::kFloat32, to);
    return to + x.numel();
  }

  Op op_;
  math::MatMulPlan plan_;
  framework::DDim out_dims_;
};

}  // namespace sluice::operators
