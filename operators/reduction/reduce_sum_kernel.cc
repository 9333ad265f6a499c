// reduce_sum, reduce_mean and their gradients.
#include <algorithm>
#include <cstring>
#include <limits>

#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/fill.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/reduction/reduce_sum.h"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kRepeatGrain = 32768;

template <typename T>
void RepeatRow(const T* y, bool one, int64_t count, T* out) {
  if (one) {
    FillContiguous(*y, count, out);
  } else {
    std::memcpy(out, y, static_cast<size_t>(count) * sizeof(T));
  }
}

// Broadcasts y to the common shape of `plan`, which is not empty, through
// ParallelFor. The plan's x only defines the shape. T is a float.
template <typename T>
void Repeat(const BroadcastPlan& plan, const T* y, T* out) {
  const int64_t row = plan.row_size();
  const bool one = plan.y_steps[plan.rank - 1] == 0;
  if (plan.rank == 1) {
    ParallelFor(row, kRepeatGrain, [=](int64_t begin, int64_t end) {
      RepeatRow(one ? y : y + begin, one, end - begin, out + begin);
    });
    return;
  }
  const auto repeat = [=](int64_t /*x_at*/, int64_t y_at, int64_t out_at) {
    RepeatRow(y + y_at, one, row, out + out_at);
  };
  ParallelFor(plan.row_count(), std::max<int64_t>(1, kRepeatGrain / row),
              [&](int64_t begin, int64_t end) {
                ForEachRow(plan, begin, end, repeat);
              });
}

template <typename T>
class ReduceSumKernel : public OpKernel {
 public:
  explicit ReduceSumKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    plan_ = PlanReduce(x, reduced_.Of(x));
    preparation.scratch_bytes = plan_.scratch_bytes;
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", out_dims_);
    if (out.numel() == 0) return;
    ReduceSum(plan_, x.data<T>(), out.data<T>(), context.scratch());
  }

 protected:
  ReducePlan plan_;

 private:
  ReducedDims reduced_;
  DDim out_dims_;
};

template <typename T>
class ReduceMeanKernel final : public ReduceSumKernel<T> {
 public:
  using ReduceSumKernel<T>::ReduceSumKernel;

  void Prepare(KernelPreparation& preparation) override {
    ReduceSumKernel<T>::Prepare(preparation);
    this->plan_.divisor = static_cast<double>(this->plan_.axes.terms);
  }
};

// Broadcasts the gradient of each sum over the reduced dimensions.
template <typename T>
class ReduceSumGradKernel final : public OpKernel {
 public:
  explicit ReduceSumGradKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    plan_ = PlanBroadcast(x_dims_, reduced_.Kept(x_dims_), -1);
  }

  void Compute(OpKernelContext& context) const override {
    const T* from = context.Input(1).data<T>();
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    Repeat(plan_, from, x_grad.data<T>());
  }

 private:
  ReducedDims reduced_;
  DDim x_dims_;
  BroadcastPlan plan_;
};

// Divides the gradients of the means and broadcasts the quotients.
template <typename T>
class ReduceMeanGradKernel final : public OpKernel {
 public:
  explicit ReduceMeanGradKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    const DDim kept = reduced_.Kept(x_dims_);
    means_ = kept.numel();
    plan_ = PlanBroadcast(x_dims_, kept, -1);
    preparation.scratch_bytes = static_cast<size_t>(means_) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const T* from = context.Input(1).data<T>();
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    using Value = Computed<T>;
    const int64_t terms = x_grad.numel() / means_;
    const auto count = static_cast<Value>(terms);
    auto* shares = static_cast<T*>(context.scratch());
    std::transform(from, from + means_, shares,
                   [count](T grad) { return Narrow<T>(Widen(grad) / count); });
    Repeat(plan_, shares, x_grad.data<T>());
  }

 private:
  ReducedDims reduced_;
  DDim x_dims_;
  int64_t means_ = 0;
  BroadcastPlan plan_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(
    reduce_sum,
    EstimatedBy<&ReductionWork>,
    ReduceSumKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>>);
REGISTER_OP_CPU_KERNEL(reduce_sum_grad, ReduceSumGradKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(reduce_mean,
                       EstimatedBy<&ReductionWork>,
                       ReduceMeanKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(reduce_mean_grad,
                       ReduceMeanGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
