#include <algorithm>

#include "sluice/operators/binary/operand_gradient.h"
#include "sluice/operators/math/binary/where.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

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

REGISTER_OP_CPU_KERNEL(where, WhereKernel);
REGISTER_OP_CPU_KERNEL(where_grad, WhereGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
