#include "sluice/operators/op_gradients.h"
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

}  // namespace

REGISTER_OPERATOR(dropout, WithGradient<kDropoutGrad>);
REGISTER_OPERATOR(dropout_grad, GradientSchema<kDropoutGrad>);

}  // namespace sluice
