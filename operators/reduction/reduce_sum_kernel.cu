#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/device_sum.cuh"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using math::ReduceWalk;
using platform::CUDADeviceContext;

// Floats are summed in double; integers modulo 2^64, one thread a sum.
template <typename T>
void ReduceSum(const CUDADeviceContext& device,
               const math::SumPlan& plan,
               const ReduceWalk& walk,
               void* scratch,
               const T* x,
               T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    math::Sum(
        device, plan, scratch,
        [=] __device__(int64_t output, int64_t term) {
          return static_cast<double>(x[walk.At(output, term)]);
        },
        math::StoreSum<T>{out});
  } else {
    const int64_t terms = plan.terms;
    platform::ForEach(device, plan.outputs, [=] __device__(int64_t output) {
      uint64_t sum = 0;
      for (int64_t term = 0; term < terms; ++term) {
        sum += static_cast<uint64_t>(x[walk.At(output, term)]);
      }
      out[output] = static_cast<T>(sum);
    });
  }
}

template <typename T>
class ReduceSumCUDAKernel final : public OpKernel {
 public:
  explicit ReduceSumCUDAKernel(const OpKernelConstruction& construction)
      : dim_(construction.Attr<std::vector<int64_t>>("dim")),
        reduce_all_(construction.Attr<bool>("reduce_all") || dim_.empty()) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    if (reduce_all_) summed_.fill(true);
    for (const int64_t axis : dim_) {
      if (!reduce_all_) summed_[axis < 0 ? axis + x.rank() : axis] = true;
    }
    plan_ = ReduceWalk::Plan(x, summed_);
    preparation.scratch_bytes = plan_.scratch_bytes();
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", out_dims_);
    if (out.numel() == 0) return;
    ReduceSum(context.device_context<CUDADeviceContext>(), plan_,
              ReduceWalk(x.dims(), summed_), context.scratch(), x.data<T>(),
              out.data<T>());
  }

 private:
  std::vector<int64_t> dim_;
  bool reduce_all_;
  ReduceWalk::Axes summed_{};
  math::SumPlan plan_;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(reduce_sum,
                        ReduceSumCUDAKernel<float>,
                        ReduceSumCUDAKernel<double>,
                        ReduceSumCUDAKernel<int32_t>,
                        ReduceSumCUDAKernel<int64_t>);

}  // namespace sluice::operators
