#include "sluice/operators/math/work.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_kernel.h"
#include "sluice/operators/sequence/embedding_mask_shape.h"

namespace sluice {
namespace {

void AverageEmbeddingMaskShape(InferShapeContext& context) {
  const DDim mean = EmbeddingMaskShape(context);
  context.SetOutput("Out", mean);
  context.SetOutput("Count", context.Matrix(mean[0], mean[1]));
}

void AverageEmbeddingMaskSchema(OpSchema& op) {
  op.Doc(
      "The mean of the embeddings of the pixels that each mask covers. A mask "
      "is run-length coded: for every x one run along Y, from its start up to "
      "its end, which is not part of it. An empty mask has mean 0 and count "
      "0.");
  EmbeddingMaskInputs(op);
  op.Output("Out", "T", "[B, M, N]: the mean of each mask.");
  op.Output("Count", "int64", "[B, M]: the number of pixels of each mask.");
  op.InferShape(AverageEmbeddingMaskShape);
}

constexpr GradientOp kAverageEmbeddingMaskGrad = {
    .forward = AverageEmbeddingMaskSchema,
    .doc =
        "The gradient of average_embedding_mask: each pixel gets Out@GRAD / "
        "Count of every mask that covers it, and 0 where there is none. "
        "Out@GRAD of an empty mask has no effect.",
    .inputs = {ShapeOf("Embedding"), "Mask"},
    .wanted = {"Embedding"},
    .dims = EmbeddingMaskShape};

struct Plain {
  template <typename... Args>
  static void Average(const Args&... args) {
    AverageEmbeddingMaskPlain(args...);
  }
};

struct Blocked {
  template <typename... Args>
  static void Average(const Args&... args) {
    AverageEmbeddingMask(args...);
  }
};

template <typename T, typename Method>
class AverageEmbeddingMaskKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& embedding = context.Input("Embedding");
    const auto sizes =
        EmbeddingMaskSizesOf(embedding.dims(), context.Input("Mask").dims());
    WithEmbeddingRuns(context, sizes.y, [&](const auto* runs) {
      Tensor& out = context.AllocateOutput(
          "Out", {sizes.batch, sizes.masks, sizes.features});
      Tensor& count =
          context.AllocateOutput("Count", {sizes.batch, sizes.masks});
      if (count.numel() == 0) return;
      Method::Average(static_cast<const T*>(embedding.raw_data()), runs, sizes,
                      static_cast<T*>(out.raw_data()), count.data<int64_t>());
    });
  }
};

template <typename T>
class AverageEmbeddingMaskGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.inputs[0];
    sizes_ = EmbeddingMaskSizesOf(dims_, preparation.query.inputs[1]);
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[2].numel()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    WithEmbeddingRuns(context, sizes_.y, [&](const auto* runs) {
      Tensor& out = context.AllocateOutput("Embedding@GRAD", dims_);
      if (out.numel() == 0) return;
      AverageEmbeddingMaskGradient(
          static_cast<const T*>(context.Input("Out@GRAD").raw_data()), runs,
          sizes_, static_cast<T*>(context.scratch()), out.data<T>());
    });
  }

 private:
  DDim dims_;
  EmbeddingMaskSizes sizes_{};
};

// Sizes do not show the length of runs: half a column is assumed. `vectors`
// says whether features are summed in vectors or one by one.
KernelWork Work(const KernelQuery& query, bool vectors) {
  const DDim& image = query.inputs[0];
  const size_t element = SizeOf(query.input_dtypes[0]);
  const auto runs = static_cast<double>(query.inputs[1].numel()) / 2;
  const double pixels = runs * static_cast<double>(image[2]) / 2;
  KernelWork work = DefaultKernelWork(query);
  work.runs = runs;
  if (vectors) {
    work.flops = 2 * pixels * Padded(image[3], VectorLanes(element));
  } else {
    work.moves = pixels * static_cast<double>(image[3]);
  }
  return work;
}

KernelWork BlockedWork(const KernelQuery& query) {
  return Work(query, true);
}
KernelWork PlainWork(const KernelQuery& query) {
  return Work(query, false);
}

}  // namespace

REGISTER_OPERATOR(average_embedding_mask,
                  WithGradient<kAverageEmbeddingMaskGrad>);
REGISTER_OPERATOR(average_embedding_mask_grad,
                  GradientSchema<kAverageEmbeddingMaskGrad>);
REGISTER_OP_KERNEL(average_embedding_mask,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&BlockedWork),
                   AverageEmbeddingMaskKernel<FloatTypes, Blocked>);
REGISTER_OP_CPU_KERNEL(average_embedding_mask,
                       EstimatedBy<&PlainWork>,
                       AverageEmbeddingMaskKernel<FloatTypes, Plain>);
REGISTER_OP_CPU_KERNEL(average_embedding_mask_grad,
                       AverageEmbeddingMaskGradKernel<FloatTypes>);

}  // namespace sluice
