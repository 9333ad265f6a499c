#include "sluice/operators/op_gradients.h"
#include "sluice/operators/random/dropout_kernel.h"
#include "sluice/operators/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void DropoutShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
  context.SetOutput("Mask", context.input("X"));
}

void DropoutGradShape(InferShapeContext& context) {
  context.SetOutput("X@GRAD", context.Merge(context.input("Mask"),
                                            context.input("Out@GRAD")));
}

void DropoutSchema(OpSchema& op) {
  op.Family("dropout");
  op.Doc(
      "Sets random elements to 0: the same for the same seed, place in the "
      "program and run, whatever the device and the number of threads.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "In X's shape.");
  op.Output("Mask", "uint8", "1 where the element was kept, else 0.");
  op.Attr<double>("dropout_prob", "How likely an element becomes 0.")
      .Default(0.5)
      .AtLeast(0)
      .AtMost(1);
  op.Attr<bool>("is_test", "Keeps all elements.").Default(false);
  op.Attr<std::string>(
        "dropout_implementation",
        "upscale_in_train divides the kept elements by 1 - dropout_prob; "
        "downgrade_in_infer multiplies all by that when is_test.")
      .Default(std::string("upscale_in_train"))
      .OneOf({"upscale_in_train", "downgrade_in_infer"});
  op.Attr<int64_t>("seed",
                   "With the op's position in the program and the number of "
                   "the run it says which elements.")
      .Default(int64_t{0});
  op.InferShape(DropoutShape).Random();
  op.SharesRows("Out", {"X"}).SharesRows("Mask", {"X"});
}

constexpr GradientOp kDropoutGrad = {
    .forward = DropoutSchema,
    .doc = "The gradient of dropout: Out@GRAD where Mask is 1, scaled as Out.",
    .outputs = {"Mask"},
    .shape = DropoutGradShape};

template <typename T>
class DropoutKernel final : public OpKernel {
 public:
  explicit DropoutKernel(const OpKernelConstruction& construction)
      : settings_(construction),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    Tensor& mask = context.AllocateOutput(1, x.dims());
    if (out.numel() == 0) return;
    Dropout({seed_, op_, context.step()},
            DropoutThreshold(settings_.probability),
            static_cast<T>(settings_.scale), out.numel(), x.data<T>(),
            out.data<T>(), mask.data<uint8_t>());
  }

 private:
  DropoutSettings settings_;
  uint64_t seed_;
  uint32_t op_;
};

template <typename T>
class DropoutGradKernel final : public OpKernel {
 public:
  explicit DropoutGradKernel(const OpKernelConstruction& construction)
      : settings_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& mask = context.Input(0);
    Tensor& grad = context.AllocateOutput(0, mask.dims());
    if (grad.numel() == 0) return;
    DropoutGrad(static_cast<T>(settings_.scale), grad.numel(),
                context.Input(1).data<T>(), mask.data<uint8_t>(),
                grad.data<T>());
  }

 private:
  DropoutSettings settings_;
};

}  // namespace

REGISTER_OPERATOR(dropout, WithGradient<kDropoutGrad>);
REGISTER_OPERATOR(dropout_grad, GradientSchema<kDropoutGrad>);
REGISTER_OP_CPU_KERNEL(dropout, DropoutKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(dropout_grad, DropoutGradKernel<FloatTypes>);

}  // namespace sluice
