#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/search/arg_best.h"

// arg_max and arg_min.
namespace sluice::operators {
namespace {

using framework::AddPlainKernels;
using framework::DDim;
using framework::OpKernelConstruction;
using framework::Tensor;

template <typename T>
class ArgBestKernel final : public framework::OpKernel {
 public:
  explicit ArgBestKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    plan_ = ArgBestPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(framework::OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    math::ArgBest(plan_, context.Input(0).data<T>(), out.data<int64_t>());
  }

 private:
  math::ArgBestPlan plan_;
  DDim out_dims_;
};

void AddArgBestKernels(framework::Registry& registry) {
  for (const char* op : {"arg_max", "arg_min"}) {
    AddPlainKernels<ArgBestKernel<float>, ArgBestKernel<double>,
                    ArgBestKernel<platform::float16>,
                    ArgBestKernel<platform::bfloat16>, ArgBestKernel<int8_t>,
                    ArgBestKernel<uint8_t>, ArgBestKernel<int32_t>,
                    ArgBestKernel<int64_t>>(registry, op, platform::CPUPlace());
  }
}

}  // namespace

REGISTER_TABLE(arg_best_kernels, AddArgBestKernels);

}  // namespace sluice::operators
