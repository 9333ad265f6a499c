#include <algorithm>
#include <array>

#include "sluice/operators/binary/operand_gradient.h"
#include "sluice/operators/math/binary/where.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the broadcast shape of Condition, X and Y.
DDim WhereDims(const InferShapeContext& context) {
  static constexpr std::array kNames = {"Condition", "X", "Y"};
  std::array<DDim, 3> dims;
  for (size_t i = 0; i < 3; ++i) {
    dims[i] = context.input(kNames[i]);
    if (!dims[i].rank_known()) return DDim::UnknownRank();
  }
  DDim out;
  const int misfit = sluice::WhereShape(dims, &out);
  context.Require(misfit < 0, "where.shapes",
                  "Condition of shape {}, X of shape {} and Y of shape {}: {} "
                  "does not fit, expected equal sizes or a 1",
                  dims[0], dims[1], dims[2], kNames[misfit < 0 ? 0 : misfit]);
  return out;
}

void WhereSchema(OpSchema& op) {
  op.Doc(
      "Out = X where Condition is true, Y elsewhere, element by element. Sizes "
      "of 1, and dimensions that one of the three lacks, are repeated, the "
      "last dimensions under each other, as in numpy.");
  op.TypeVar("T", AllDTypes());
  op.Input("Condition", "bool", "What decides, of any shape.");
  op.Input("X", "T", "What is taken where it is true.");
  op.Input("Y", "T", "What is taken where it is false.");
  op.Output("Out", "T", "The result, in the common shape.");
  op.InferShape(OutShape<WhereDims>).Elementwise();
  op.Onnx({"Where", {}}).Torch("torch.where(Condition, X, Y)");
}

constexpr GradientOp kWhereGrad = {
    .forward = WhereSchema,
    .doc =
        "The gradients of where: Out@GRAD where the element came from that "
        "operand, 0 elsewhere; each is summed over the dimensions in which "
        "that operand was repeated.",
    .inputs = {"Condition", ShapeOf("X"), ShapeOf("Y")},
    .wanted = {"X", "Y"},
    .dims = WhereDims};

class WhereKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    where_ = Where({inputs[0], inputs[1], inputs[2]},
                   SizeOf(preparation.query.input_dtypes[1]));
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput("Out", dims_);
    if (out.numel() == 0) return;
    where_.Run(context.Input("Condition").data<bool>(),
               context.Input("X").raw_data(), context.Input("Y").raw_data(),
               out.raw_data());
  }

 private:
  Where where_;
  DDim dims_;
};

template <typename T>
class WhereGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const DDim& condition = preparation.query.inputs[0];
    const DDim& x = preparation.query.inputs[1];
    const DDim& y = preparation.query.inputs[2];
    DDim out;
    WhereShape({condition, x, y}, &out);
    x_terms_ = Where({condition, out, DDim()}, sizeof(T));
    y_terms_ = Where({condition, DDim(), out}, sizeof(T));
    x_grad_ = OperandGradient<T>(x, out, -1);
    y_grad_ = OperandGradient<T>(y, out, -1);
    preparation.scratch_bytes =
        std::max(x_grad_.scratch_bytes(/*with_terms=*/true),
                 y_grad_.scratch_bytes(/*with_terms=*/true));
  }

  void Compute(OpKernelContext& context) const override {
    const bool* condition = context.Input("Condition").data<bool>();
    const T* out_grad = context.Input("Out@GRAD").data<T>();
    const T zero{};
    const auto compute = [&](const char* output,
                             const OperandGradient<T>& gradient,
                             const Where& where, const T* yes, const T* no) {
      if (!context.HasOutput(output)) return;
      T* grad =
          context.AllocateOutput(output, gradient.dims()).template data<T>();
      T* terms = gradient.Terms(grad, context.scratch());
      where.Run(condition, yes, no, terms);
      gradient.Finish(terms, grad, context.scratch());
    };
    compute("X@GRAD", x_grad_, x_terms_, out_grad, &zero);
    compute("Y@GRAD", y_grad_, y_terms_, &zero, out_grad);
  }

 private:
  Where x_terms_;
  Where y_terms_;
  OperandGradient<T> x_grad_;
  OperandGradient<T> y_grad_;
};

}  // namespace

REGISTER_OPERATOR(where, WithGradient<kWhereGrad>);
REGISTER_OPERATOR(where_grad, GradientSchema<kWhereGrad>);
REGISTER_OP_CPU_KERNEL(where, WhereKernel);
REGISTER_OP_CPU_KERNEL(where_grad, WhereGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
