#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/norm/lrn_geometry.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void LrnShape(InferShapeContext& context) {
  context.SetOutput("Out", context.WithRankAtLeast(context.input("X"), 2));
}

void LrnGradShape(InferShapeContext& context) {
  context.SetOutput(
      "X@GRAD",
      context.WithRankAtLeast(
          context.Merge(context.input("X"), context.input("Out@GRAD")), 2));
}

void LrnSchema(OpSchema& op) {
  op.Doc(
      "Local response normalization across channels: Out[c] = X[c] / (k + "
      "alpha / n * the sum of X[i]^2)^beta over the channels i from c - (n - "
      "1) / 2 to c + n / 2, both rounded down, that exist.");
  op.Input("X", "T", "[N, C, ...] for NCHW, [N, ..., C] for NHWC.");
  op.Output("Out", "T", "In the shape of X.");
  op.TypeVar("T", FloatDTypes());
  op.Attr<int64_t>("n", "The channels of a window.")
      .Default(int64_t{5})
      .AtLeast(1);
  op.Attr<double>("k", "What the sums of squares are added to.").Default(1.0);
  op.Attr<double>("alpha",
                  "What the mean of the squares over the n channels is "
                  "multiplied with, as in ONNX, PyTorch and Caffe: Fluid and "
                  "TensorFlow multiply the sum, their alpha is ours / n.")
      .Default(1e-4);
  op.Attr<double>("beta", "The exponent.").Default(0.75);
  op.Attr<std::string>("data_format",
                       "Where the channels are: dim 1 for NCHW, the last one "
                       "for NHWC.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(LrnShape);
  op.Onnx({"LRN", {{"size", "n"}, {"bias", "k"}}});
}

constexpr GradientOp kLrnGrad = {.forward = LrnSchema,
                                 .doc = "The gradient of lrn.",
                                 .inputs = {"X"},
                                 .shape = LrnGradShape};

template <typename T>
class LrnKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (x.numel() > 0) Lrn(geometry_, x.data<T>(), out.data<T>());
  }

 private:
  LrnGeometry geometry_;
};

template <typename T>
class LrnGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[0].numel()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& x_grad = context.AllocateOutput(0, x.dims());
    if (x.numel() == 0) return;
    LrnGrad(geometry_, x.data<T>(), context.Input(1).data<T>(),
            static_cast<T*>(context.scratch()), x_grad.data<T>());
  }

 private:
  LrnGeometry geometry_;
};

}  // namespace

REGISTER_OPERATOR(lrn, WithGradient<kLrnGrad>);
REGISTER_OPERATOR(lrn_grad, GradientSchema<kLrnGrad>);
REGISTER_OP_CPU_KERNEL(lrn, LrnKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(lrn_grad, LrnGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
