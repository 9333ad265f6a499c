#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/gather.h"

namespace sluice::operators {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::DType;

namespace {

// "3", or "[1, 0]": where element `position` of a tensor of shape `dims` is.
std::string Coordinates(int64_t position, const DDim& dims) {
  if (dims.rank() <= 1) return std::to_string(position);
  DDim at = dims;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    at[axis] = position % dims[axis];
    position /= dims[axis];
  }
  std::string text = ToString(at);
  return text.substr(1, text.size() - 2);
}

template <typename T>
class GatherKernel final : public OpKernel {
 public:
  explicit GatherKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + x.rank() : axis_);
    outer_ = x.Product(0, axis);
    size_ = x[axis];
    inner_ = x.Product(axis + 1, x.rank());
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& index = context.Input(1);
    if (index.numel() == 0) {
      context.AllocateOutput(0, out_dims_);
    } else if (index.dtype() == DType::kInt32) {
      ComputeWith(context, index.dims(), index.data<int32_t>());
    } else {
      ComputeWith(context, index.dims(), index.data<int64_t>());
    }
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context,
                   const DDim& index_dims,
                   const Index* index) const {
    const int64_t count = index_dims.numel();
    const int64_t outside = math::FindOutside(index, count, size_);
    SLUICE_ENFORCE(outside < 0, ErrorCode::kOutOfRange,
                   "gather.index_range_at_run",
                   "gather: input Index[{}] = {} is outside of [0, {}), dim {} "
                   "of input X {}",
                   Coordinates(outside, index_dims), index[outside], size_,
                   axis_, context.Input(0).dims());
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    math::Gather(context.Input(0).data<T>(), index, outer_, size_, count,
                 static_cast<size_t>(inner_) * sizeof(T), out.data<T>());
  }

  int64_t axis_;
  int64_t outer_ = 0;
  int64_t size_ = 0;
  int64_t inner_ = 0;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(gather,
                       GatherKernel<float>,
                       GatherKernel<double>,
                       GatherKernel<platform::float16>,
                       GatherKernel<platform::bfloat16>,
                       GatherKernel<int8_t>,
                       GatherKernel<uint8_t>,
                       GatherKernel<int32_t>,
                       GatherKernel<int64_t>,
                       GatherKernel<bool>);

}  // namespace sluice::operators
