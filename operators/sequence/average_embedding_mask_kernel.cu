#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/device_embedding_mask.cuh"

namespace sluice {
namespace {

constexpr char kAverage[] = "average_embedding_mask";
constexpr char kAverageGrad[] = "average_embedding_mask_grad";

template <typename T>
class AverageEmbeddingMaskCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DeviceMasks masks(context);
    const int64_t features = masks.features;
    const auto* embedding =
        static_cast<const T*>(context.Input("Embedding").raw_data());
    Tensor& out =
        context.AllocateOutput("Out", {masks.batch, masks.masks, features});
    Tensor& counts =
        context.AllocateOutput("Count", {masks.batch, masks.masks});
    // Empty tensors may have no memory.
    auto* mean = static_cast<T*>(out.raw_data());
    auto* count = static_cast<int64_t*>(counts.raw_data());
    masks.Check(device, &RaiseEmbeddingRun<kAverage>);
    ForEach(device, masks.count(),
            [=] __device__(int64_t m) { count[m] = masks.PixelsOf(m); });
    ForEach(device, out.numel(), [=] __device__(int64_t at) {
      const int64_t m = at / features, pixels = count[m];
      mean[at] = pixels == 0 ? T{0}
                             : static_cast<T>(masks.MeanOf(
                                   embedding, m, at % features, pixels));
    });
  }
};

template <typename T>
class AverageEmbeddingMaskGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[2].numel()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DeviceMasks masks(context);
    const int64_t features = masks.features;
    const Tensor& mean = context.Input("Out@GRAD");
    const auto* mean_grad = static_cast<const T*>(mean.raw_data());
    auto* share = static_cast<T*>(context.scratch());
    Tensor& out = context.AllocateOutput("Embedding@GRAD",
                                         context.Input("Embedding").dims());
    auto* embedding_grad = static_cast<T*>(out.raw_data());
    masks.Check(device, &RaiseEmbeddingRun<kAverageGrad>);
    // Shares of empty masks are never read.
    ForEach(device, mean.numel(), [=] __device__(int64_t at) {
      const auto pixels = static_cast<double>(masks.PixelsOf(at / features));
      share[at] = static_cast<T>(static_cast<double>(mean_grad[at]) / pixels);
    });
    ForEach(device, out.numel(), [=] __device__(int64_t at) {
      const int64_t pixel = at / features, row = pixel % masks.y;
      const int64_t column = pixel / masks.y % masks.x;
      const int64_t first = pixel / masks.y / masks.x * masks.masks;
      T sum = 0;
      for (int64_t m = first; m < first + masks.masks; ++m) {
        const auto run = masks.RunOf(m, column);
        if (row < run.start || row >= run.end) continue;
        sum += share[m * features + at % features];
      }
      embedding_grad[at] = sum;
    });
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(average_embedding_mask,
                        AverageEmbeddingMaskCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(average_embedding_mask_grad,
                        AverageEmbeddingMaskGradCUDAKernel<FloatTypes>);

}  // namespace sluice
