#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/device_walk.cuh"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using math::DeviceWalk;
using platform::CUDADeviceContext;

// Repeats the gradient of each sum over the dimensions summed.
template <typename T>
class ReduceSumGradCUDAKernel final : public OpKernel {
 public:
  explicit ReduceSumGradCUDAKernel(const OpKernelConstruction& construction)
      : dim_(construction.Attr<std::vector<int64_t>>("dim")),
        all_(construction.Attr<bool>("reduce_all") || dim_.empty()) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    DDim kept = x_dims_;
    for (int axis = 0; all_ && axis < kept.rank(); ++axis) {
      kept[axis] = 1;
    }
    for (const int64_t axis : dim_) {
      kept[static_cast<int>(axis < 0 ? axis + kept.rank() : axis)] = 1;
    }
    plan_ = math::PlanBroadcast(x_dims_, kept, -1);
  }

  void Compute(OpKernelContext& context) const override {
    const T* grad = context.Input(1).data<T>();
    T* x_grad = context.AllocateOutput(0, x_dims_).data<T>();
    const DeviceWalk walk(plan_.rank, plan_.sizes, plan_.x_steps,
                          plan_.y_steps);
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), x_dims_.numel(),
        [=] __device__(int64_t i) { x_grad[i] = grad[walk.At(i).second]; });
  }

 private:
  std::vector<int64_t> dim_;
  bool all_;
  DDim x_dims_;
  math::BroadcastPlan plan_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(reduce_sum_grad,
                        ReduceSumGradCUDAKernel<float>,
                        ReduceSumGradCUDAKernel<double>,
                        ReduceSumGradCUDAKernel<platform::float16>,
                        ReduceSumGradCUDAKernel<platform::bfloat16>);

}  // namespace sluice::operators
