#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/data_check.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;
using platform::DataCheck;
using platform::ErrorCode;

void RaiseEnd(int64_t position, int64_t value, int64_t bound) {
  platform::Raise(ErrorCode::kOutOfRange, "average_embedding_mask.bad_run",
                  "average_embedding_mask: run {} of input Mask {} {}, "
                  "expected 0 <= start <= end <= {}, dim 2 of input Embedding",
                  position / 2, position % 2 == 0 ? "starts at" : "ends at",
                  value, bound - 1);
}

// embedding [B, X, Y, N], mask [B, M, X, 2], mean [B, M, N], count [B, M].
template <typename T, typename S>
struct Masks {
  const T* embedding;
  const S* mask;
  T* mean;
  int64_t* count;
  int64_t x, y, features, masks;

  // Both ends of run `i`; an empty run for one that is not valid.
  __device__ void Check(int64_t i, const DataCheck& check) const {
    const auto start = static_cast<int64_t>(mask[2 * i]);
    const auto end = static_cast<int64_t>(mask[2 * i + 1]);
    if (!check.Inside(2 * i, start)) return;
    // An end before its start is as far out as one below 0.
    check.Inside(2 * i + 1, end < start ? min(end, int64_t{-1}) : end);
  }

  __device__ void Average(int64_t at) const {
    const int64_t feature = features == 0 ? 0 : at % features;
    const int64_t m = features == 0 ? at : at / features;
    const int64_t image = m / masks;
    double sum = 0;
    int64_t pixels = 0;
    for (int64_t column = 0; column < x; ++column) {
      const S* run = mask + (m * x + column) * 2;
      const auto start = static_cast<int64_t>(run[0]);
      const auto end = static_cast<int64_t>(run[1]);
      if (start < 0 || start > end || end > y) continue;
      const T* from = embedding + (image * x + column) * y * features + feature;
      for (int64_t row = start; features > 0 && row < end; ++row) {
        sum += from[row * features];
      }
      pixels += end - start;
    }
    if (feature == 0) count[m] = pixels;
    if (features == 0) return;
    mean[at] =
        static_cast<T>(pixels == 0 ? 0 : sum / static_cast<double>(pixels));
  }
};

template <typename T>
class AverageEmbeddingMaskCUDAKernel final : public OpKernel {
 public:
  explicit AverageEmbeddingMaskCUDAKernel(const OpKernelConstruction&) {}

  void Compute(OpKernelContext& context) const override {
    if (context.Input("Mask").dtype() == platform::DType::kInt32) {
      ComputeWith<int32_t>(context);
    } else {
      ComputeWith<int64_t>(context);
    }
  }

  template <typename S>
  static void ComputeWith(OpKernelContext& context) {
    const auto& device = context.device_context<CUDADeviceContext>();
    const Tensor& embedding = context.Input("Embedding");
    const Tensor& mask = context.Input("Mask");
    const DDim& image = embedding.dims();
    const int64_t masks = mask.dims()[1];
    Tensor& out = context.AllocateOutput("Out", {image[0], masks, image[3]});
    Tensor& count = context.AllocateOutput("Count", {image[0], masks});
    // Empty tensors need not have memory.
    const Masks<T, S> work{static_cast<const T*>(embedding.raw_data()),
                           static_cast<const S*>(mask.raw_data()),
                           static_cast<T*>(out.raw_data()),
                           static_cast<int64_t*>(count.raw_data()),
                           image[1],
                           image[2],
                           image[3],
                           masks};
    const DataCheck check(device, image[2] + 1, &RaiseEnd);
    platform::ForEach(device, mask.numel() / 2,
                      [=] __device__(int64_t i) { work.Check(i, check); });
    platform::ForEach(device, image[3] == 0 ? count.numel() : out.numel(),
                      [=] __device__(int64_t at) { work.Average(at); });
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(average_embedding_mask,
                        AverageEmbeddingMaskCUDAKernel<float>,
                        AverageEmbeddingMaskCUDAKernel<double>);

}  // namespace sluice::operators
