#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/fill.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class FillConstantKernel final : public OpKernel {
 public:
  explicit FillConstantKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")) {
    const auto value = construction.Attr<double>("value");
    math::Cast(&value, 1, platform::kDTypeOf<T>, &value_);
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    math::Fill(value_, out.numel(), out.data<T>());
  }

 private:
  DDim dims_;
  T value_{};
};

}  // namespace

REGISTER_OP_CPU_KERNEL(fill_constant,
                       FillConstantKernel<float>,
                       FillConstantKernel<double>,
                       FillConstantKernel<platform::float16>,
                       FillConstantKernel<platform::bfloat16>,
                       FillConstantKernel<int8_t>,
                       FillConstantKernel<uint8_t>,
                       FillConstantKernel<int32_t>,
                       FillConstantKernel<int64_t>,
                       FillConstantKernel<bool>);

}  // namespace sluice::operators
