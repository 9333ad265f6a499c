#include <algorithm>
#include <limits>
#include <type_traits>

#include "sluice/operators/math/work.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_kernel.h"
#include "sluice/operators/sequence/embedding_mask_shape.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

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

// As unsigned numbers, a negative end is above y, and a negative start is above
// every non-negative end.
template <typename S>
bool IsValidRun(const S* run, S y) {
  using U = std::make_unsigned_t<S>;
  return static_cast<U>(run[0]) <= static_cast<U>(run[1]) &&
         static_cast<U>(run[1]) <= static_cast<U>(y);
}

// Computes the gradient of every pixel of mask m: mean_grad / count.
template <typename T, typename S>
void ShareOut(const T* mean_grad,
              const S* mask,
              const EmbeddingMaskSizes& sizes,
              int64_t m,
              T* shares) {
  const S* runs = mask + m * sizes.x * 2;
  int64_t pixels = 0;
  for (int64_t x = 0; x < sizes.x; ++x) {
    pixels += runs[2 * x + 1] - runs[2 * x];
  }
  // Shares of an empty mask are never read.
  if (pixels == 0) return;
  for (int64_t f = m * sizes.features; f < (m + 1) * sizes.features; ++f) {
    shares[f] = static_cast<T>(static_cast<double>(mean_grad[f]) /
                               static_cast<double>(pixels));
  }
}

// Computes column x of image b.
template <typename T, typename S>
void AddShares(const T* shares,
               const S* mask,
               const EmbeddingMaskSizes& sizes,
               int64_t b,
               int64_t x,
               T* column) {
  const int64_t features = sizes.features;
  std::fill(column, column + sizes.y * features, T{0});
  for (int64_t m = b * sizes.masks; m < (b + 1) * sizes.masks; ++m) {
    const S* run = mask + (m * sizes.x + x) * 2;
    const T* from = shares + m * features;
    for (int64_t y = run[0]; y < run[1]; ++y) {
      T* to = column + y * features;
      for (int64_t f = 0; f < features; ++f) {
        to[f] += from[f];
      }
    }
  }
}

}  // namespace

template <typename S>
int64_t FindInvalidRun(const S* mask, int64_t runs, int64_t y) {
  const S limit =
      static_cast<S>(std::min<int64_t>(y, std::numeric_limits<S>::max()));
  // Blocks without an early exit are fast to check.
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < runs; begin += kBlock) {
    const int64_t end = std::min(runs, begin + kBlock);
    int valid = 1;
    for (int64_t i = begin; i < end; ++i) {
      valid &= static_cast<int>(IsValidRun(mask + 2 * i, limit));
    }
    for (int64_t i = begin; valid == 0 && i < end; ++i) {
      if (!IsValidRun(mask + 2 * i, limit)) return i;
    }
  }
  return -1;
}

template <typename T, typename S>
void AverageEmbeddingMaskPlain(const T* embedding,
                               const S* mask,
                               const EmbeddingMaskSizes& sizes,
                               T* mean,
                               int64_t* count) {
  const int64_t masks = sizes.masks, features = sizes.features;
  const int64_t x_size = sizes.x, y_size = sizes.y;
  const auto one_mask = [=](int64_t b, int64_t m) {
    const S* runs = mask + (b * masks + m) * x_size * 2;
    int64_t pixels = 0;
    for (int64_t x = 0; x < x_size; ++x) {
      pixels += runs[2 * x + 1] - runs[2 * x];
    }
    count[b * masks + m] = pixels;
    for (int64_t f = 0; f < features; ++f) {
      double sum = 0;
      for (int64_t x = 0; x < x_size; ++x) {
        for (int64_t y = runs[2 * x]; y < runs[2 * x + 1]; ++y) {
          sum += embedding[((b * x_size + x) * y_size + y) * features + f];
        }
      }
      mean[(b * masks + m) * features + f] =
          static_cast<T>(pixels > 0 ? sum / static_cast<double>(pixels) : 0.0);
    }
  };
  ParallelFor(sizes.batch * masks, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      one_mask(i / masks, i % masks);
    }
  });
}

template <typename T, typename S>
void AverageEmbeddingMaskGradient(const T* mean_grad,
                                  const S* mask,
                                  const EmbeddingMaskSizes& sizes,
                                  T* shares,
                                  T* embedding_grad) {
  ParallelFor(sizes.batch * sizes.masks,
              EmbeddingMaskGrain(sizes.x + sizes.features),
              [&](int64_t begin, int64_t end) {
                for (int64_t m = begin; m < end; ++m) {
                  ShareOut(mean_grad, mask, sizes, m, shares);
                }
              });
  const int64_t column = sizes.y * sizes.features;
  ParallelFor(sizes.batch * sizes.x, EmbeddingMaskGrain(column + sizes.masks),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  AddShares(shares, mask, sizes, i / sizes.x, i % sizes.x,
                            embedding_grad + i * column);
                }
              });
}

SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, float, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, float, int64_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, double, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, double, int64_t);
SLUICE_INSTANTIATE_INDICES(FindInvalidRun);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, float, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, float, int64_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, double, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, double, int64_t);

namespace {

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
