#include "sluice/operators/registration.h"
#include "sluice/operators/search/arg_best.h"

// arg_max and arg_min.
namespace sluice {
namespace {

template <typename T>
class ArgBestKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ArgBestPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    ArgBest(plan_, context.Input(0).data<T>(), out.data<int64_t>());
  }

 private:
  ArgBestPlan plan_;
  DDim out_dims_;
};

void AddArgBestKernels(Registry& registry) {
  for (const char* op : {"arg_max", "arg_min"}) {
    AddPlainKernels<ArgBestKernel<NumberTypes>>(registry, op, CPUPlace());
  }
}

}  // namespace

REGISTER_TABLE(arg_best_kernels, AddArgBestKernels);

}  // namespace sluice
