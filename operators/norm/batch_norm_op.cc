#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/norm/batch_norm_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Returns [C]. X and these inputs of one number a channel must agree on C.
DDim Channels(const InferShapeContext& context,
              const ShapeHandle& x,
              std::initializer_list<const char*> names) {
  const bool nchw = context.Attr<std::string>("data_format") == "NCHW";
  DimHandle channels = context.Dim(x, nchw ? 1 : -1);
  for (const char* name : names) {
    if (!context.HasInput(name)) continue;
    const ShapeHandle given = context.WithRank(context.input(name), 1);
    channels = context.Merge(channels, context.Dim(given, 0));
  }
  return DDim{channels.size};
}

void BatchNormShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  const DDim channels =
      Channels(context, x, {"Scale", "Bias", "Mean", "Variance"});
  context.SetOutput("Y", x);
  for (const char* name :
       {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    context.SetOutput(name, channels);
  }
}

void FusedBatchNormShape(InferShapeContext& context) {
  BatchNormShape(context);
  CheckChain(context, context.input("X"));
}

void BatchNormGradShape(InferShapeContext& context) {
  ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  if (context.HasInput("Y@GRAD")) {
    x = context.Merge(x, context.input("Y@GRAD"));
  }
  const DDim channels = Channels(context, x,
                                 {"Scale", "SavedMean", "SavedVariance",
                                  "SavedMean@GRAD", "SavedVariance@GRAD"});
  context.SetOutput("X@GRAD", x);
  context.SetOutput("Scale@GRAD", channels);
  context.SetOutput("Bias@GRAD", channels);
}

void FusedBatchNormGradShape(InferShapeContext& context) {
  context.Require(context.HasInput("Y@GRAD"), "fused_batch_norm_grad.y_grad",
                  "Y@GRAD is left out");
  BatchNormGradShape(context);
  context.SetOutput("Residual@GRAD",
                    context.Merge(context.input("X"), context.input("Out")));
}

void BatchNormArguments(OpSchema& op) {
  op.Doc(
      "Normalizes each channel: Y = (X - mean) / sqrt(variance + epsilon) * "
      "Scale + Bias. Mean and variance (of all elements, divided by their "
      "number) are those of the batch, or with is_test the inputs Mean and "
      "Variance.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T",
           "[N, C, ...] for NCHW, [N, ..., C] for NHWC, of rank 2 or more.");
  op.Input("Scale", "T", "[C]: multiplies what was normalized.");
  op.Input("Bias", "T", "[C]: added at the end.");
  op.Input("Mean", "T", "[C]: the running mean.");
  op.Input("Variance", "T", "[C]: the running variance.");
  op.Output("Y", "T", "In X's shape.");
  op.Output("MeanOut", "T",
            "[C]: momentum * Mean + (1 - momentum) * the batch's mean; Mean "
            "with is_test or without elements.",
            {.optional = true});
  op.Output("VarianceOut", "T", "[C]: the same of the variance.",
            {.optional = true});
  op.Output("SavedMean", "T", "[C]: the mean that was used.");
  op.Output("SavedVariance", "T",
            "[C]: 1 / sqrt(variance + epsilon) that was used.");
  op.Update("MeanOut", "Mean").Update("VarianceOut", "Variance");
  op.Attr<double>("momentum",
                  "How much of Mean and Variance is kept, when training.")
      .Default(0.9)
      .AtLeast(0)
      .AtMost(1);
  op.Attr<double>("epsilon", "Added to the variance.").Default(1e-5).AtLeast(0);
  op.Attr<bool>("is_test", "Normalizes by Mean and Variance.").Default(false);
  op.Attr<std::string>("data_format",
                       "Where the channels are: dim 1 for NCHW, the last one "
                       "for NHWC.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(BatchNormShape);
}

void BatchNormSchema(OpSchema& op) {
  BatchNormArguments(op);
  op.FusedAs("fused_batch_norm").ShortName("bn");
  op.Sizes({{"X", "8, n, 14, 14"},
            {"Scale", "n"},
            {"Bias", "n"},
            {"Mean", "n"},
            {"Variance", "n"}});
}

void FusedBatchNormSchema(OpSchema& op) {
  BatchNormArguments(op);
  op.Doc("batch_norm, and element-wise ops after its Y.").Internal();
  ChainArguments(op);
  op.InferShape(FusedBatchNormShape);
}

constexpr GradientOp kBatchNormGrad = {
    .forward = BatchNormSchema,
    .doc =
        "The gradients of batch_norm. Those of MeanOut and VarianceOut are no "
        "part of it.",
    .inputs = {"X", "Scale"},
    .outputs = {"SavedMean", "SavedVariance"},
    .output_grads = {"Y", "SavedMean", "SavedVariance"},
    .wanted = {"X", "Scale", "Bias"},
    .shape = BatchNormGradShape};

void FusedBatchNormGradSchema(OpSchema& op) {
  GradientSchema<kBatchNormGrad>(op);
  op.Doc(
        "The gradients of batch_norm, of what was added to its Y, and of the "
        "relu after that. Y@GRAD is the gradient of the relu's output. X@GRAD "
        "is wanted.")
      .Internal();
  op.Input("Out", "T", "The output of the relu.");
  op.Output("Residual@GRAD", "T", "The gradient of the relu's input.",
            {.optional = true});
  op.InferShape(FusedBatchNormGradShape);
}

// With channels last, each element loads each factor. Sums are in double.
KernelWork Work(const KernelQuery& query) {
  const auto elements = static_cast<double>(query.inputs[0].numel());
  KernelWork work = DefaultKernelWork(query);
  work.costs = "batch_norm";
  if (query.Attr<std::string>("data_format") == "NHWC") {
    work.moves = elements;
  }
  if (!query.Attr<bool>("is_test")) {
    work.sums = elements;
    work.parallel_loops = 3;
  }
  return work;
}

}  // namespace

REGISTER_OPERATOR(batch_norm, WithGradient<kBatchNormGrad>);
REGISTER_OPERATOR(fused_batch_norm, FusedBatchNormSchema);
REGISTER_OPERATOR(fused_batch_norm_grad, FusedBatchNormGradSchema);
REGISTER_OPERATOR(batch_norm_grad, GradientSchema<kBatchNormGrad>);
REGISTER_OP_CPU_KERNEL(batch_norm,
                       EstimatedBy<&Work>,
                       BatchNormKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(fused_batch_norm,
                       EstimatedBy<&Work>,
                       BatchNormKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(batch_norm_grad, BatchNormGradKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(fused_batch_norm_grad, BatchNormGradKernel<FloatTypes>);

}  // namespace sluice
