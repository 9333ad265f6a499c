#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/broadcast_add.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class ElementwiseAddKernel final : public OpKernel {
 public:
  explicit ElementwiseAddKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& y = preparation.query.inputs[1];
    same_shape_ = x == y;
    plan_ = math::PlanBroadcast(x, y, axis_);
    math::BroadcastShape(x, y, axis_, &out_dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    Tensor& out = context.AllocateOutput("Out", out_dims_);
    const int64_t count = out.numel();
    if (count == 0) return;
    if (same_shape_) {
      math::AddSame(x.data<T>(), y.data<T>(), count, out.data<T>());
    } else {
      math::AddBroadcast(plan_, x.data<T>(), y.data<T>(), out.data<T>());
    }
  }

 private:
  int64_t axis_;
  bool same_shape_ = false;
  math::BroadcastPlan plan_;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(elementwise_add,
                       ElementwiseAddKernel<float>,
                       ElementwiseAddKernel<double>,
                       ElementwiseAddKernel<platform::float16>,
                       ElementwiseAddKernel<platform::bfloat16>,
                       ElementwiseAddKernel<int8_t>,
                       ElementwiseAddKernel<uint8_t>,
                       ElementwiseAddKernel<int32_t>,
                       ElementwiseAddKernel<int64_t>);

}  // namespace sluice::operators
