#include "sluice/operators/math/cast.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

void CastSchema(OpSchema& op) {
  op.Doc(
      "X in another dtype. To a float: rounded to nearest, ties to even. From "
      "a float to an integer: the fraction is dropped, values past the ends of "
      "the range become its ends and NaN becomes 0. From an integer to a "
      "smaller one, and from a float to one of 4 or 2 bits: the upper bits are "
      "dropped. To bool: whether it is not 0, which NaN is not; from bool: 0 "
      "or 1.");
  op.TypeVar("T", AllDTypes());
  op.TypeVarFromAttr("U", "dtype", AllDTypes());
  op.Input("X", "T", "The tensor, of any shape.");
  op.Output("Out", "U", "The elements of X as `dtype`, in the shape of X.");
  op.Attr<DType>("dtype", "The dtype of Out.");
  op.Attr<bool>("saturate",
                "Whether numbers past the range of a float of 8 bits become "
                "its nearest end; else they become infinity, or NaN where "
                "there is none.")
      .Default(true);
  op.Attr<std::string>("round_mode",
                       "Where float8_e8m0fnu, which has powers of two only, "
                       "rounds to.")
      .Default(std::string("up"))
      .OneOf({"up", "down", "nearest"});
  op.InferShape(SameShape).Elementwise();
}

constexpr GradientOp kCastGrad = {
    .forward = CastSchema,
    .doc =
        "The gradient of cast between floats: that of Out in the dtype of X, "
        "rounded to nearest.",
    .inputs = {ShapeOf("X")},
    .without = {"dtype", "saturate", "round_mode"}};

Narrowing NarrowingOf(const OpKernelConstruction& construction) {
  const auto& mode = construction.Attr<std::string>("round_mode");
  return {construction.Attr<bool>("saturate"), mode == "up" ? PowerRounding::kUp
                                               : mode == "down"
                                                   ? PowerRounding::kDown
                                                   : PowerRounding::kNearest};
}

class CastKernel final : public OpKernel {
 public:
  explicit CastKernel(const OpKernelConstruction& construction)
      : dtype_(construction.Attr<DType>("dtype")),
        narrowing_(NarrowingOf(construction)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    Cast(x.dtype(), x.raw_data(), x.numel(), dtype_, out.raw_data(),
         narrowing_);
  }

 private:
  DType dtype_;
  Narrowing narrowing_;
};

// T is the dtype of X and of its gradient. Out may have any float dtype.
template <typename T>
class CastGradKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(1);
    Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    if (x_grad.numel() == 0) return;
    Cast(out_grad.dtype(), out_grad.raw_data(), out_grad.numel(),
         x_grad.dtype(), x_grad.raw_data());
  }
};

}  // namespace

REGISTER_OPERATOR(cast, WithGradient<kCastGrad>);
REGISTER_OPERATOR(cast_grad, GradientSchema<kCastGrad>);
REGISTER_OP_CPU_KERNEL(cast, CastKernel);
REGISTER_OP_CPU_KERNEL(cast_grad, CastGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
