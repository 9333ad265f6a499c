#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Floats are summed in double and then divided. Integers are summed modulo
// 2^64, with one thread for each sum.
template <typename T>
void ReduceSum(const CUDADeviceContext& device,
               const SumPlan& plan,
               const ReduceWalk& walk,
               void* scratch,
               const T* x,
               T* out,
               double divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    Sum(
        device, plan, scratch,
        [=] __device__(int64_t output, int64_t term) {
          return static_cast<double>(x[walk.At(output, term)]);
        },
        [=] __device__(int64_t i, double sum) {
          out[i] = static_cast<T>(sum / divisor);  // NaN for 0 / 0
        });
  } else {
    const int64_t terms = plan.terms;
    ForEach(device, plan.outputs, [=] __device__(int64_t output) {
      uint64_t sum = 0;
      for (int64_t term = 0; term < terms; ++term) {
        sum += static_cast<uint64_t>(x[walk.At(output, term)]);
      }
      out[output] = static_cast<T>(sum);
    });
  }
}

template <typename T>
class ReduceSumCUDAKernel : public OpKernel {
 public:
  explicit ReduceSumCUDAKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    axes_ = reduced_.Of(x);
    plan_ = ReduceWalk::Plan(x, axes_);
    preparation.scratch_bytes = plan_.scratch_bytes();
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    T* out = context.AllocateOutput("Out", out_dims_).template data<T>();
    ReduceSum(context.device_context<CUDADeviceContext>(), plan_,
              ReduceWalk(x.dims(), axes_), context.scratch(), x.data<T>(), out,
              divisor_);
  }

 protected:
  SumPlan plan_;
  double divisor_ = 1;

 private:
  ReducedDims reduced_;
  ReduceWalk::Axes axes_{};
  DDim out_dims_;
};

template <typename T>
class ReduceMeanCUDAKernel final : public ReduceSumCUDAKernel<T> {
 public:
  using ReduceSumCUDAKernel<T>::ReduceSumCUDAKernel;

  void Prepare(KernelPreparation& preparation) override {
    ReduceSumCUDAKernel<T>::Prepare(preparation);
    this->divisor_ = static_cast<double>(this->plan_.terms);
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(reduce_sum,
                        ReduceSumCUDAKernel<JoinTypes<FloatTypes, IndexTypes>>);
REGISTER_OP_CUDA_KERNEL(reduce_mean, ReduceMeanCUDAKernel<FloatTypes>);

}  // namespace sluice
