#pragma once

#include <algorithm>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/operand_gradient.h"

namespace sluice::operators {

// What the gradients of X op Y have in common. Compute calls XTerms and YTerms
// for the gradients that somebody needs.
template <typename T>
class ElementwiseGradKernel : public framework::OpKernel {
 public:
  using OpKernelContext = framework::OpKernelContext;

  ElementwiseGradKernel(const framework::OpKernelConstruction& construction,
                        bool negative_y,
                        bool computes_terms)
      : axis_(construction.Attr<int64_t>("axis")),
        negative_y_(negative_y),
        computes_terms_(computes_terms) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    using framework::DDim;
    const DDim& x = preparation.query.inputs[0];
    const DDim& y = preparation.query.inputs[1];
    DDim out;
    math::BroadcastShape(x, y, axis_, &out);
    count_ = out.numel();
    x_grad_ = OperandGradient<T>(x, out, -1);
    y_grad_ = OperandGradient<T>(y, out, axis_, negative_y_);
    with_x_ = math::PlanBroadcast(out, x, -1);
    with_y_ = math::PlanBroadcast(out, y, axis_);
    preparation.scratch_bytes =
        std::max(x_grad_.scratch_bytes(computes_terms_),
                 y_grad_.scratch_bytes(computes_terms_));
  }

  void Compute(OpKernelContext& context) const override {
    const T* out_grad = context.Input("Out@GRAD").template data<T>();
    void* scratch = context.scratch();
    if (context.HasOutput("X@GRAD")) {
      T* grad =
          context.AllocateOutput("X@GRAD", x_grad_.dims()).template data<T>();
      T* terms = x_grad_.Terms(grad, scratch);
      x_grad_.Finish(XTerms(context, out_grad, terms), grad, scratch);
    }
    if (context.HasOutput("Y@GRAD")) {
      T* grad =
          context.AllocateOutput("Y@GRAD", y_grad_.dims()).template data<T>();
      T* terms = y_grad_.Terms(grad, scratch);
      y_grad_.Finish(YTerms(context, out_grad, terms), grad, scratch);
    }
  }

 protected:
  // The terms of the gradient, in the shape of Out: written to `terms`, or
  // where they are already. The sign of Y's is seen to.
  virtual const T* XTerms(const OpKernelContext& context,
                          const T* out_grad,
                          T* terms) const = 0;
  virtual const T* YTerms(const OpKernelContext& context,
                          const T* out_grad,
                          T* terms) const = 0;

  // terms = a op X (op Y), X (Y) being repeated to the shape of Out.
  void WithX(math::BinaryOp op, const T* a, const T* x, T* terms) const {
    if (count_ > 0) math::BinaryBroadcast(op, with_x_, a, x, terms);
  }
  void WithY(math::BinaryOp op, const T* a, const T* y, T* terms) const {
    if (count_ > 0) math::BinaryBroadcast(op, with_y_, a, y, terms);
  }
  int64_t count() const { return count_; }

 private:
  int64_t axis_;
  bool negative_y_;
  bool computes_terms_;
  int64_t count_ = 0;
  OperandGradient<T> x_grad_;
  OperandGradient<T> y_grad_;
  math::BroadcastPlan with_x_;
  math::BroadcastPlan with_y_;
};

// Of X + Y and X - Y: the gradient of Out itself.
template <typename T>
class ElementwiseLinearGradKernel : public ElementwiseGradKernel<T> {
 public:
  ElementwiseLinearGradKernel(
      const framework::OpKernelConstruction& construction, bool negative_y)
      : ElementwiseGradKernel<T>(construction,
                                 negative_y,
                                 /*computes_terms=*/false) {}

 protected:
  const T* XTerms(const framework::OpKernelContext& /*context*/,
                  const T* out_grad,
                  T* /*terms*/) const override {
    return out_grad;
  }
  const T* YTerms(const framework::OpKernelContext& /*context*/,
                  const T* out_grad,
                  T* /*terms*/) const override {
    return out_grad;
  }
};

}  // namespace sluice::operators
