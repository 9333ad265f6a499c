#include <algorithm>

#include "sluice/operators/binary/operand_gradient.cuh"
#include "sluice/operators/binary/where.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class WhereCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    condition_dims_ = preparation.query.inputs[0];
    x_dims_ = preparation.query.inputs[1];
    y_dims_ = preparation.query.inputs[2];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const bool* condition = context.Input("Condition").data<bool>();
    const T* x = context.Input("X").data<T>();
    const T* y = context.Input("Y").data<T>();
    T* out = context.AllocateOutput("Out", out_dims_).template data<T>();
    if (out_dims_.numel() == 0) return;
    const auto of_condition = WalkOperands(condition_dims_, out_dims_, -1);
    const auto of_x = WalkOperands(x_dims_, out_dims_, -1);
    const auto of_y = WalkOperands(y_dims_, out_dims_, -1);
    ForEach(context.device_context<CUDADeviceContext>(), out_dims_.numel(),
            [=] __device__(int64_t i) {
              out[i] = condition[of_condition.At(i).first]
                           ? x[of_x.At(i).first]
                           : y[of_y.At(i).first];
            });
  }

 private:
  DDim condition_dims_;
  DDim x_dims_;
  DDim y_dims_;
  DDim out_dims_;
};

// The gradient of one operand, before any reduction: that of Out where the
// condition equals `taken`, 0 elsewhere.
template <typename T>
struct WhereTerm {
  DeviceWalk walk;
  const bool* condition;
  const T* out_grad;
  bool taken;

  __device__ T At(int64_t i) const {
    return condition[walk.At(i).first] == taken ? out_grad[i] : T{0};
  }
};

template <typename T>
class WhereGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    condition_dims_ = preparation.query.inputs[0];
    const DDim& x = preparation.query.inputs[1];
    const DDim& y = preparation.query.inputs[2];
    WhereShape({condition_dims_, x, y}, &out_dims_);
    x_grad_ = OperandCUDAGradient(x, out_dims_, -1);
    y_grad_ = OperandCUDAGradient(y, out_dims_, -1);
    preparation.scratch_bytes =
        std::max(x_grad_.scratch_bytes(), y_grad_.scratch_bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const auto write = [&](const char* output, const OperandCUDAGradient& own,
                           bool taken) {
      if (!context.HasOutput(output)) return;
      const WhereTerm<T> term{WalkOperands(condition_dims_, out_dims_, -1),
                              context.Input("Condition").data<bool>(),
                              context.Input("Out@GRAD").data<T>(), taken};
      T* grad = context.AllocateOutput(output, own.dims()).template data<T>();
      own.Write(context, term, grad);
    };
    write("X@GRAD", x_grad_, true);
    write("Y@GRAD", y_grad_, false);
  }

 private:
  DDim condition_dims_;
  DDim out_dims_;
  OperandCUDAGradient x_grad_;
  OperandCUDAGradient y_grad_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(
    where, WhereCUDAKernel<JoinTypes<FloatAndIntegerTypes, DTypeSet<bool>>>);
REGISTER_OP_CUDA_KERNEL(where_grad, WhereGradCUDAKernel<FloatTypes>);

}  // namespace sluice
