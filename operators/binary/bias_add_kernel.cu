#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class BiasAddCUDAKernel final : public OpKernel {
 public:
  explicit BiasAddCUDAKernel(const OpKernelConstruction& construction)
      : nchw_(construction.Attr<std::string>("data_format") == "NCHW") {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& bias = preparation.query.inputs[1];
    plan_ = PlanBroadcast(x, bias, nchw_ ? 1 : x.rank() - 1);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    Tensor& output = context.AllocateOutput("Out", input.dims());
    if (output.numel() == 0) return;
    const T* x = input.data<T>();
    const T* bias = context.Input("Bias").data<T>();
    T* out = output.data<T>();
    const DeviceWalk walk(plan_.rank, plan_.sizes, plan_.x_steps,
                          plan_.y_steps);
    ForEach(context.device_context<CUDADeviceContext>(), output.numel(),
            [=] __device__(int64_t i) {
              const DeviceWalk::Position at = walk.At(i);
              out[i] = x[at.first] + bias[at.second];
            });
  }

 private:
  bool nchw_;
  BroadcastPlan plan_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(bias_add, BiasAddCUDAKernel<FloatTypes>);

}  // namespace sluice
