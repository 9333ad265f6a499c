#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/sequence/embedding_mask.h"
#include "sluice/operators/math/work.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// Raises OutOfRange for a run that does not lie within [0, height].
template <typename S>
void CheckRuns(const DDim& mask, const S* runs, int64_t height) {
  const int64_t i = math::FindInvalidRun(runs, mask.numel() / 2, height);
  if (i < 0) return;
  const int64_t start = runs[2 * i];
  const int64_t end = runs[2 * i + 1];
  const int64_t x = i % mask[2];
  const int64_t m = i / mask[2] % mask[1];
  const int64_t b = i / mask[2] / mask[1];
  SLUICE_ENFORCE(start >= 0, ErrorCode::kOutOfRange,
                 "average_embedding_mask.negative_start",
                 "average_embedding_mask: Mask[{}, {}, {}] is the run "
                 "[{}, {}), expected a start of 0 or more",
                 b, m, x, start, end);
  SLUICE_ENFORCE(start <= end, ErrorCode::kOutOfRange,
                 "average_embedding_mask.start_past_end",
                 "average_embedding_mask: Mask[{}, {}, {}] is the run "
                 "[{}, {}), expected start <= end",
                 b, m, x, start, end);
  SLUICE_ENFORCE(end <= height, ErrorCode::kOutOfRange,
                 "average_embedding_mask.end_past_y",
                 "average_embedding_mask: Mask[{}, {}, {}] is the run "
                 "[{}, {}), expected an end of at most {}, dim 2 of input "
                 "Embedding",
                 b, m, x, start, end, height);
}

struct Plain {
  template <typename... Args>
  static void Average(const Args&... args) {
    math::AverageEmbeddingMaskPlain(args...);
  }
};

struct Blocked {
  template <typename... Args>
  static void Average(const Args&... args) {
    math::AverageEmbeddingMask(args...);
  }
};

// The dtype of the mask, the second type variable, is looked at here.
template <typename T, typename Method>
class AverageEmbeddingMaskKernel final : public OpKernel {
 public:
  explicit AverageEmbeddingMaskKernel(const OpKernelConstruction&) {}

  void Compute(OpKernelContext& context) const override {
    if (context.Input("Mask").dtype() == platform::DType::kInt32) {
      ComputeWith<int32_t>(context);
    } else {
      ComputeWith<int64_t>(context);
    }
  }

 private:
  template <typename S>
  static void ComputeWith(OpKernelContext& context) {
    const Tensor& embedding = context.Input("Embedding");
    const Tensor& mask = context.Input("Mask");
    const DDim& image = embedding.dims();
    const math::EmbeddingMaskSizes sizes{.batch = image[0],
                                         .x = image[1],
                                         .y = image[2],
                                         .features = image[3],
                                         .masks = mask.dims()[1]};
    // Empty tensors need not have memory.
    const auto* runs = static_cast<const S*>(mask.raw_data());
    CheckRuns(mask.dims(), runs, sizes.y);
    Tensor& out = context.AllocateOutput(
        "Out", {sizes.batch, sizes.masks, sizes.features});
    Tensor& count = context.AllocateOutput("Count", {sizes.batch, sizes.masks});
    if (count.numel() == 0) return;
    Method::Average(static_cast<const T*>(embedding.raw_data()), runs, sizes,
                    static_cast<T*>(out.raw_data()), count.data<int64_t>());
  }
};

// Runs cover half of a column, as far as sizes tell: a sum over vectors of
// features, or over one after the other.
framework::KernelWork Work(const framework::KernelQuery& query, bool vectors) {
  const DDim& image = query.inputs[0];
  const size_t element = platform::SizeOf(query.input_dtypes[0]);
  const auto runs = static_cast<double>(query.inputs[1].numel()) / 2;
  const double pixels = runs * static_cast<double>(image[2]) / 2;
  framework::KernelWork work = framework::DefaultKernelWork(query);
  work.moves = 7 * runs;
  if (vectors) {
    work.flops =
        2 * pixels * math::Padded(image[3], math::VectorLanes(element));
  } else {
    work.moves += pixels * static_cast<double>(image[3]);
  }
  return work;
}

framework::KernelWork BlockedWork(const framework::KernelQuery& query) {
  return Work(query, true);
}
framework::KernelWork PlainWork(const framework::KernelQuery& query) {
  return Work(query, false);
}

}  // namespace

REGISTER_OP_KERNEL(average_embedding_mask,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&BlockedWork),
                   AverageEmbeddingMaskKernel<float, Blocked>,
                   AverageEmbeddingMaskKernel<double, Blocked>);
REGISTER_OP_KERNEL(average_embedding_mask,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&PlainWork),
                   AverageEmbeddingMaskKernel<float, Plain>,
                   AverageEmbeddingMaskKernel<double, Plain>);

}  // namespace sluice::operators
