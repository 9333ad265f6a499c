#include "sluice/operators/binary/broadcast_binary.h"
#include "sluice/operators/binary/operand_gradient.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void BiasAddShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  const ShapeHandle bias = context.WithRank(context.input("Bias"), 1);
  const bool nchw = context.Attr<std::string>("data_format") == "NCHW";
  const DimHandle channels =
      context.Merge(context.Dim(x, nchw ? 1 : -1), context.Dim(bias, 0));
  DDim out = x;
  if (out.rank_known()) out[nchw ? 1 : out.rank() - 1] = channels.size;
  context.SetOutput("Out", out);
}

void BiasAddGradShape(InferShapeContext& context) {
  const ShapeHandle out_grad =
      context.WithRankAtLeast(context.input("Out@GRAD"), 2);
  const bool nchw = context.Attr<std::string>("data_format") == "NCHW";
  context.SetOutput("X@GRAD", out_grad);
  context.SetOutput("Bias@GRAD", {context.Dim(out_grad, nchw ? 1 : -1).size});
}

void BiasAddSchema(OpSchema& op) {
  op.Doc("Adds one number to all elements of each channel.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T",
           "[N, C, ...] for NCHW, [N, ..., C] for NHWC, of rank 2 or more.");
  op.Input("Bias", "T", "[C]: the numbers.");
  op.Output("Out", "T", "The sum, in X's shape.");
  op.Attr<std::string>("data_format",
                       "Where the channels are: dim 1 for NCHW, the last one "
                       "for NHWC.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(BiasAddShape);
  op.SharesRows("Out", {"X"});
  op.Sizes({{"X", "64, n"}, {"Bias", "n"}});
}

constexpr GradientOp kBiasAddGrad = {
    .forward = BiasAddSchema,
    .doc =
        "The gradients of bias_add: that of Out for X, its sum over each "
        "channel for Bias.",
    .wanted = {"X", "Bias"},
    .shape = BiasAddGradShape,
    .add = [](OpSchema& op) { op.Alias("X@GRAD", "Out@GRAD"); }};

template <typename T>
class BiasAddKernel final : public OpKernel {
 public:
  explicit BiasAddKernel(const OpKernelConstruction& construction)
      : nchw_(construction.Attr<std::string>("data_format") == "NCHW"),
        add_(*FindBinaryRow("elementwise_add"), kDTypeOf<T>) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& bias = preparation.query.inputs[1];
    plan_ = PlanBroadcast(x, bias, nchw_ ? 1 : x.rank() - 1);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& bias = context.Input("Bias");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    if (out.numel() == 0) return;
    add_.Broadcast(plan_, x.data<T>(), bias.data<T>(), out.data<T>());
  }

 private:
  bool nchw_;
  BinaryFunction add_;
  BroadcastPlan plan_;
};

template <typename T>
class BiasAddGradKernel final : public OpKernel {
 public:
  explicit BiasAddGradKernel(const OpKernelConstruction& construction)
      : nchw_(construction.Attr<std::string>("data_format") == "NCHW") {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& out = preparation.query.inputs[0];
    const int axis = nchw_ ? 1 : out.rank() - 1;
    x_grad_ = OperandGradient<T>(out, out, -1);
    bias_grad_ = OperandGradient<T>({out[axis]}, out, axis);
    preparation.scratch_bytes = bias_grad_.scratch_bytes(/*with_terms=*/false);
  }

  void Compute(OpKernelContext& context) const override {
    const T* out_grad = context.Input(0).data<T>();
    const auto finish = [&](const char* name, const OperandGradient<T>& grad) {
      if (!context.HasOutput(name)) return;
      Tensor& output = context.AllocateOutput(name, grad.dims());
      grad.Finish(out_grad, output.data<T>(), context.scratch());
    };
    finish("X@GRAD", x_grad_);
    finish("Bias@GRAD", bias_grad_);
  }

 private:
  bool nchw_;
  OperandGradient<T> x_grad_;
  OperandGradient<T> bias_grad_;
};

}  // namespace

REGISTER_OPERATOR(bias_add, WithGradient<kBiasAddGrad>);
REGISTER_OPERATOR(bias_add_grad, GradientSchema<kBiasAddGrad>);
REGISTER_OP_CPU_KERNEL(bias_add, BiasAddKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(bias_add_grad, BiasAddGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
