#pragma once

#include <algorithm>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/device_sum.cuh"

namespace sluice::operators {

// Where the elements of X and Y lie for each element of Out.
inline math::DeviceWalk WalkOperands(const framework::DDim& x,
                                     const framework::DDim& y,
                                     int64_t axis) {
  const math::BroadcastPlan plan = math::PlanBroadcast(x, y, axis);
  return {plan.rank, plan.sizes, plan.x_steps, plan.y_steps};
}

// Out = Function::Of(X, Y) on CUDA, with the smaller one repeated.
template <typename T, typename Function>
class ElementwiseCUDAKernel final : public framework::OpKernel {
 public:
  explicit ElementwiseCUDAKernel(
      const framework::OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    y_dims_ = preparation.query.inputs[1];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(framework::OpKernelContext& context) const override {
    const auto& device = context.device_context<platform::CUDADeviceContext>();
    const T* x = context.Input(0).template data<T>();
    const T* y = context.Input(1).template data<T>();
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    const int64_t count = out_dims_.numel();
    if (count == 0) return;
    if (x_dims_ == y_dims_) {
      platform::ForEach(device, count, [=] __device__(int64_t i) {
        out[i] = Function::Of(x[i], y[i]);
      });
    } else {
      const math::DeviceWalk walk = WalkOperands(x_dims_, y_dims_, axis_);
      platform::ForEach(device, count, [=] __device__(int64_t i) {
        const math::DeviceWalk::Position at = walk.At(i);
        out[i] = Function::Of(x[at.first], y[at.second]);
      });
    }
  }

 private:
  int64_t axis_;
  framework::DDim x_dims_;
  framework::DDim y_dims_;
  framework::DDim out_dims_;
};

// What an operand gets of the gradient of Out, for the elements of Out.
// `Function` says how, and which inputs it reads; others are null.
template <typename T, typename Function, bool kOfX>
struct ElementwiseGradTerm {
  math::DeviceWalk walk;
  const T* out_grad;
  const T* x;
  const T* y;
  const T* out;

  __device__ T At(int64_t i) const {
    const math::DeviceWalk::Position at = walk.At(i);
    const T grad = out_grad[i];
    const T x_value = x == nullptr ? T{0} : x[at.first];
    const T y_value = y == nullptr ? T{0} : y[at.second];
    const T out_value = out == nullptr ? T{0} : out[i];
    return kOfX ? Function::XGradient(grad, x_value, y_value, out_value)
                : Function::YGradient(grad, x_value, y_value, out_value);
  }
};

// The gradients of X op Y on CUDA: of an operand that was repeated, the sum.
template <typename T, typename Function>
class ElementwiseGradCUDAKernel final : public framework::OpKernel {
 public:
  using DDim = framework::DDim;
  using OpKernelContext = framework::OpKernelContext;

  explicit ElementwiseGradCUDAKernel(
      const framework::OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    y_dims_ = preparation.query.inputs[1];
    math::BroadcastShape(x_dims_, y_dims_, axis_, &out_dims_);
    x_repeated_ = math::RepeatedAxes(x_dims_, out_dims_, -1);
    y_repeated_ = math::RepeatedAxes(y_dims_, out_dims_, axis_);
    x_plan_ = math::ReduceWalk::Plan(out_dims_, x_repeated_);
    y_plan_ = math::ReduceWalk::Plan(out_dims_, y_repeated_);
    preparation.scratch_bytes =
        std::max(x_plan_.scratch_bytes(), y_plan_.scratch_bytes());
  }

  // X@GRAD may lie where Out@GRAD does, which Y's sums still read: it is last.
  void Compute(OpKernelContext& context) const override {
    if (context.HasOutput("Y@GRAD")) {
      T* grad = context.AllocateOutput("Y@GRAD", y_dims_).template data<T>();
      Write(context, Term<false>(context), y_plan_, y_repeated_, grad);
    }
    if (context.HasOutput("X@GRAD")) {
      T* grad = context.AllocateOutput("X@GRAD", x_dims_).template data<T>();
      Write(context, Term<true>(context), x_plan_, x_repeated_, grad);
    }
  }

  template <typename Term>
  void Write(OpKernelContext& context,
             const Term& term,
             const math::SumPlan& plan,
             const math::ReduceWalk::Axes& repeated,
             T* grad) const {
    const auto& device = context.device_context<platform::CUDADeviceContext>();
    if (plan.terms == 1) {
      platform::ForEach(device, plan.outputs,
                        [=] __device__(int64_t i) { grad[i] = term.At(i); });
      return;
    }
    const math::ReduceWalk walk(out_dims_, repeated);
    math::Sum(
        device, plan, context.scratch(),
        [=] __device__(int64_t output, int64_t i) -> double {
          return term.At(walk.At(output, i));
        },
        math::StoreSum<T>{grad});
  }

 private:
  template <bool kOfX>
  ElementwiseGradTerm<T, Function, kOfX> Term(
      const OpKernelContext& context) const {
    const auto read = [&](bool wanted, const char* name) -> const T* {
      return wanted ? context.Input(name).template data<T>() : nullptr;
    };
    return {WalkOperands(x_dims_, y_dims_, axis_),
            context.Input("Out@GRAD").template data<T>(),
            read(Function::kReadsX, "X"), read(Function::kReadsY, "Y"),
            read(Function::kReadsOut, "Out")};
  }

  int64_t axis_;
  DDim x_dims_;
  DDim y_dims_;
  DDim out_dims_;
  math::ReduceWalk::Axes x_repeated_{};
  math::ReduceWalk::Axes y_repeated_{};
  math::SumPlan x_plan_;
  math::SumPlan y_plan_;
};

}  // namespace sluice::operators
