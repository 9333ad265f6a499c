#include "sluice/operators/registration.h"
#include "sluice/operators/scan/scan.h"

// cumsum and cumprod.
namespace sluice {
namespace {

struct Sum {
  template <typename T>
  static void Forward(const ScanPlan& plan, const T* x, T* out) {
    CumulativeSum(plan, x, out);
  }
  // Sums the gradients in the opposite direction.
  template <typename T>
  static void Backward(ScanPlan plan,
                       const Tensor& /*x*/,
                       const T* out_grad,
                       T* x_grad) {
    plan.reverse = !plan.reverse;
    CumulativeSum(plan, out_grad, x_grad);
  }
};

struct Product {
  template <typename T>
  static void Forward(const ScanPlan& plan, const T* x, T* out) {
    CumulativeProduct(plan, x, out);
  }
  template <typename T>
  static void Backward(const ScanPlan& plan,
                       const Tensor& x,
                       const T* out_grad,
                       T* x_grad) {
    CumulativeProductGrad(plan, x.data<T>(), out_grad, x_grad);
  }
};

template <typename T, typename Op>
class ScanKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ScanPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    Op::Forward(plan_, context.Input(0).data<T>(), out.data<T>());
  }

 private:
  ScanPlan plan_;
  DDim out_dims_;
};

template <typename T, typename Op>
class ScanGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ScanPlanOf(preparation.query);
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    Op::Backward(plan_, context.Input(0), context.Input(1).data<T>(),
                 x_grad.data<T>());
  }

 private:
  ScanPlan plan_;
  DDim x_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(
    cumsum, ScanKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>, Sum>);
REGISTER_OP_CPU_KERNEL(
    cumprod, ScanKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>, Product>);
REGISTER_OP_CPU_KERNEL(cumsum_grad, ScanGradKernel<FloatTypes, Sum>);
REGISTER_OP_CPU_KERNEL(cumprod_grad, ScanGradKernel<FloatTypes, Product>);

}  // namespace sluice
