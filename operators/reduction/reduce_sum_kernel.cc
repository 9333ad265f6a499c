#include <array>
#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/reduce_sum.h"
#include "sluice/operators/math/reduction/repeat.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// Which dimensions the attributes name.
class SummedDims {
 public:
  explicit SummedDims(const OpKernelConstruction& construction)
      : dim_(construction.Attr<std::vector<int64_t>>("dim")),
        all_(construction.Attr<bool>("reduce_all") || dim_.empty()) {}

  std::array<bool, DDim::kMaxRank> Of(const DDim& x) const {
    std::array<bool, DDim::kMaxRank> summed{};
    if (all_) summed.fill(true);
    for (const int64_t axis : dim_) {
      if (!all_) summed[axis < 0 ? axis + x.rank() : axis] = true;
    }
    return summed;
  }

 private:
  std::vector<int64_t> dim_;
  bool all_;
};

template <typename T>
class ReduceSumKernel final : public OpKernel {
 public:
  explicit ReduceSumKernel(const OpKernelConstruction& construction)
      : summed_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    plan_ = math::PlanReduce(x, summed_.Of(x));
    preparation.scratch_bytes = plan_.scratch_bytes;
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", out_dims_);
    if (out.numel() == 0) return;
    math::ReduceSum(plan_, x.data<T>(), out.data<T>(), context.scratch());
  }

 private:
  SummedDims summed_;
  math::ReducePlan plan_;
  DDim out_dims_;
};

// Repeats the gradient of each sum over the dimensions summed.
template <typename T>
class ReduceSumGradKernel final : public OpKernel {
 public:
  explicit ReduceSumGradKernel(const OpKernelConstruction& construction)
      : summed_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    DDim kept = x_dims_;
    const auto summed = summed_.Of(x_dims_);
    for (int axis = 0; axis < kept.rank(); ++axis) {
      if (summed[axis]) kept[axis] = 1;
    }
    plan_ = math::PlanBroadcast(x_dims_, kept, -1);
  }

  void Compute(OpKernelContext& context) const override {
    const T* from = context.Input(1).data<T>();
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    math::Repeat(plan_, from, x_grad.data<T>());
  }

 private:
  SummedDims summed_;
  DDim x_dims_;
  math::BroadcastPlan plan_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(reduce_sum,
                       ReduceSumKernel<float>,
                       ReduceSumKernel<double>,
                       ReduceSumKernel<platform::float16>,
                       ReduceSumKernel<platform::bfloat16>,
                       ReduceSumKernel<int32_t>,
                       ReduceSumKernel<int64_t>);
REGISTER_OP_CPU_KERNEL(reduce_sum_grad,
                       ReduceSumGradKernel<float>,
                       ReduceSumGradKernel<double>,
                       ReduceSumGradKernel<platform::float16>,
                       ReduceSumGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
