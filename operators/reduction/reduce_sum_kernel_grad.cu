#include <type_traits>

#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

struct OfSum {};
struct OfMean {};

// Broadcasts the gradient of each sum over the reduced dimensions; for a mean,
// divides it by the number of elements.
template <typename T, typename Of>
class ReduceSumGradCUDAKernel final : public OpKernel {
 public:
  explicit ReduceSumGradCUDAKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    const DDim kept = reduced_.Kept(x_dims_);
    if (x_dims_.numel() > 0) terms_ = x_dims_.numel() / kept.numel();
    plan_ = PlanBroadcast(x_dims_, kept, -1);
  }

  void Compute(OpKernelContext& context) const override {
    const T* grad = context.Input(1).template data<T>();
    T* x_grad = context.AllocateOutput(0, x_dims_).template data<T>();
    const DeviceWalk walk(plan_.rank, plan_.sizes, plan_.x_steps,
                          plan_.y_steps);
    const auto& device = context.device_context<CUDADeviceContext>();
    if constexpr (std::is_same_v<Of, OfMean>) {
      const auto terms = static_cast<T>(terms_);
      ForEach(device, x_dims_.numel(), [=] __device__(int64_t i) {
        x_grad[i] = grad[walk.At(i).second] / terms;
      });
    } else {
      ForEach(device, x_dims_.numel(), [=] __device__(int64_t i) {
        x_grad[i] = grad[walk.At(i).second];
      });
    }
  }

 private:
  ReducedDims reduced_;
  DDim x_dims_;
  int64_t terms_ = 1;
  BroadcastPlan plan_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(reduce_sum_grad,
                        ReduceSumGradCUDAKernel<FloatAndHalfTypes, OfSum>);
REGISTER_OP_CUDA_KERNEL(reduce_mean_grad,
                        ReduceSumGradCUDAKernel<FloatTypes, OfMean>);

}  // namespace sluice
