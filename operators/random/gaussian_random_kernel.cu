#include "sluice/operators/random/box_muller.h"
#include "sluice/operators/random/device_random.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Computes the same bits as FillNormal.
template <typename T>
class GaussianRandomCUDAKernel final : public OpKernel {
 public:
  explicit GaussianRandomCUDAKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        mean_(construction.Attr<double>("mean")),
        std_(construction.Attr<double>("std")),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const double mean = mean_, deviation = std_;
    ForEachRandomBlock(
        context.device_context<CUDADeviceContext>(),
        {seed_, op_, context.step()}, dims_.numel(),
        [=] __device__(const PhiloxCounter& words, int64_t first, int count) {
          for (int i = 0; i < count; i += 2) {
            const BoxMullerPair pair =
                BoxMuller(words.word[i], words.word[i + 1]);
            const double radius = sqrt(pair.square);
            const double cosine = radius * pair.direction.cosine;
            const double sine = radius * pair.direction.sine;
            out[first + i] = static_cast<T>(mean + deviation * cosine);
            if (i + 1 == count) break;
            out[first + i + 1] = static_cast<T>(mean + deviation * sine);
          }
        });
  }

 private:
  DDim dims_;
  double mean_;
  double std_;
  uint64_t seed_;
  uint32_t op_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(gaussian_random, GaussianRandomCUDAKernel<FloatTypes>);

}  // namespace sluice
