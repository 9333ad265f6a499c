#include <cmath>

#include "sluice/operators/random/device_random.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Computes the same bits as FillUniform.
template <typename T>
class UniformRandomCUDAKernel final : public OpKernel {
 public:
  explicit UniformRandomCUDAKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        min_(construction.Attr<double>("min")),
        max_(construction.Attr<double>("max")),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const double min = min_, range = max_ - min_;
    const T low = static_cast<T>(min_), high = static_cast<T>(max_);
    const T last = low < high ? std::nextafter(high, low) : low;
    const RandomStream stream{seed_, op_, context.step()};
    constexpr bool kTwo = sizeof(T) == sizeof(double);
    ForEachRandomBlock(
        context.device_context<CUDADeviceContext>(), stream, dims_.numel(),
        [=] __device__(const PhiloxCounter& words, int64_t first, int count) {
          PhiloxCounter seconds{};
          // A device lambda cannot first capture a variable in `if constexpr`.
          if (kTwo) {
            seconds = stream.Block(static_cast<uint64_t>(first) / 4 +
                                   RandomStream::kSecondWords);
          }
          for (int i = 0; i < count; ++i) {
            const double u =
                kTwo ? Uniform53(words.word[i], seconds.word[i])
                     : static_cast<double>(words.word[i]) * (1.0 / 4294967296);
            const T value = static_cast<T>(min + u * range);
            out[first + i] = last < value ? last : value;
          }
        });
  }

 private:
  DDim dims_;
  double min_;
  double max_;
  uint64_t seed_;
  uint32_t op_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(uniform_random, UniformRandomCUDAKernel<FloatTypes>);

}  // namespace sluice
