#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class BiasAddGradCUDAKernel final : public OpKernel {
 public:
  explicit BiasAddGradCUDAKernel(const OpKernelConstruction& construction)
      : nchw_(construction.Attr<std::string>("data_format") == "NCHW") {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.inputs[0];
    summed_.fill(true);
    summed_[nchw_ ? 1 : dims_.rank() - 1] = false;
    plan_ = ReduceWalk::Plan(dims_, summed_);
    preparation.scratch_bytes = plan_.scratch_bytes();
  }

  // X@GRAD may share the memory of Out@GRAD.
  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(0);
    const T* grad = out_grad.data<T>();
    const auto& device = context.device_context<CUDADeviceContext>();
    if (context.HasOutput("Bias@GRAD")) {
      T* out = context.AllocateOutput("Bias@GRAD", {plan_.outputs}).data<T>();
      const ReduceWalk walk(dims_, summed_);
      Sum(
          device, plan_, context.scratch(),
          [=] __device__(int64_t channel, int64_t i) -> double {
            return grad[walk.At(channel, i)];
          },
          StoreSum<T>{out});
    }
    if (!context.HasOutput("X@GRAD")) return;
    Tensor& x_grad = context.AllocateOutput("X@GRAD", dims_);
    if (x_grad.numel() == 0 || x_grad.data<T>() == grad) return;
    context.device_context().CopyOnDevice(x_grad.data<T>(), grad,
                                          out_grad.bytes());
  }

 private:
  bool nchw_;
  DDim dims_;
  ReduceWalk::Axes summed_{};
  SumPlan plan_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(bias_add_grad, BiasAddGradCUDAKernel<FloatTypes>);

}  // namespace sluice
