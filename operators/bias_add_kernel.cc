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
class BiasAddKernel final : public OpKernel {
 public:
  explicit BiasAddKernel(const OpKernelConstruction& construction)
      : nchw_(construction.Attr<std::string>("data_format") == "NCHW") {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& bias = preparation.query.inputs[1];
    plan_ = math::PlanBroadcast(x, bias, nchw_ ? 1 : x.rank() - 1);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& bias = context.Input("Bias");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    if (out.numel() == 0) return;
    math::AddBroadcast(plan_, x.data<T>(), bias.data<T>(), out.data<T>());
  }

 private:
  bool nchw_;
  math::BroadcastPlan plan_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(bias_add,
                       BiasAddKernel<float>,
                       BiasAddKernel<double>,
                       BiasAddKernel<platform::float16>,
                       BiasAddKernel<platform::bfloat16>);

}  // namespace sluice::operators
