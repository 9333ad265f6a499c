#include <array>

#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/reduce_sum.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class ReduceSumKernel final : public OpKernel {
 public:
  explicit ReduceSumKernel(const OpKernelConstruction& construction)
      : dim_(construction.Attr<std::vector<int64_t>>("dim")),
        keep_dim_(construction.Attr<bool>("keep_dim")),
        reduce_all_(construction.Attr<bool>("reduce_all") || dim_.empty()) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    std::array<bool, DDim::kMaxRank> summed{};
    if (reduce_all_) summed.fill(true);
    for (const int64_t axis : dim_) {
      if (!reduce_all_) summed[axis < 0 ? axis + x.rank() : axis] = true;
    }
    plan_ = math::PlanReduce(x, summed);
    preparation.scratch_bytes = plan_.scratch_bytes;
    out_dims_ = DDim();
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (!summed[axis]) {
        out_dims_.InsertDim(out_dims_.rank(), x[axis]);
      } else if (keep_dim_) {
        out_dims_.InsertDim(out_dims_.rank(), 1);
      }
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", out_dims_);
    if (out.numel() == 0) return;
    math::ReduceSum(plan_, x.data<T>(), out.data<T>(), context.scratch());
  }

 private:
  std::vector<int64_t> dim_;
  bool keep_dim_;
  bool reduce_all_;
  math::ReducePlan plan_;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(reduce_sum,
                       ReduceSumKernel<float>,
                       ReduceSumKernel<double>,
                       ReduceSumKernel<platform::float16>,
                       ReduceSumKernel<platform::bfloat16>,
                       ReduceSumKernel<int32_t>,
                       ReduceSumKernel<int64_t>);

}  // namespace sluice::operators
