#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/operators/movement/device_scatter_add.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void RaiseGradIndex(int64_t position, int64_t value, int64_t size) {
  Raise(ErrorCode::kOutOfRange, "gather_grad.index_range_on_device",
        "gather_grad: element {} of input Index, {}, is outside of "
        "{}, the dim of input X",
        position, value, IndexRange(size));
}

template <typename T>
class GatherGradCUDAKernel final : public OpKernel {
 public:
  explicit GatherGradCUDAKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    if (axis_ < 0) axis_ += x_dims_.rank();
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(),
               [&]<typename Index>() { ComputeWith<Index>(context); });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    const Tensor& index = context.Input(1);
    const auto axis = static_cast<int>(axis_);
    const DeviceScatterAdd<T, Index> scatter{
        .x = context.Input(2).data<T>(),
        .index = index.data<Index>(),
        .out = context.AllocateOutput(0, x_dims_).template data<T>(),
        .outer = x_dims_.Product(0, axis),
        .size = x_dims_[axis],
        .count = index.numel(),
        .inner = x_dims_.Product(axis + 1, x_dims_.rank()),
        .from_end = true};
    scatter.Run(device, {device, scatter.size, &RaiseGradIndex});
  }

  int64_t axis_;
  DDim x_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(gather_grad, GatherGradCUDAKernel<FloatTypes>);

}  // namespace sluice
