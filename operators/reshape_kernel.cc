#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/strided_copy.h"

namespace sluice::operators {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

namespace {

// Nothing to do where Out already looks into the memory of X.
template <typename T>
class ReshapeKernel final : public OpKernel {
 public:
  explicit ReshapeKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const T* from = context.Input(0).data<T>();
    T* to = out.data<T>();
    if (from != to) math::CopyBytes(from, to, out.bytes());
  }

 private:
  DDim dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(reshape,
                       ReshapeKernel<float>,
                       ReshapeKernel<double>,
                       ReshapeKernel<platform::float16>,
                       ReshapeKernel<platform::bfloat16>,
                       ReshapeKernel<int8_t>,
                       ReshapeKernel<uint8_t>,
                       ReshapeKernel<int32_t>,
                       ReshapeKernel<int64_t>,
                       ReshapeKernel<bool>);

}  // namespace sluice::operators
