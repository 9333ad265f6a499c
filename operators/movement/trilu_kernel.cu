#include <algorithm>

#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
class TriluCUDAKernel final : public OpKernel {
 public:
  explicit TriluCUDAKernel(const OpKernelConstruction& construction)
      : upper_(construction.Attr<bool>("upper")),
        k_(construction.Attr<int64_t>("k")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    Tensor& output = context.AllocateOutput(0, input.dims());
    if (output.numel() == 0) return;
    const T* x = input.data<T>();
    T* out = output.data<T>();
    const int rank = input.dims().rank();
    const int64_t rows = input.dims()[rank - 2];
    const int64_t columns = input.dims()[rank - 1];
    const int64_t k = std::clamp(k_, -rows, columns);
    const bool upper = upper_;
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) {
              const int64_t right = i % columns - i / columns % rows - k;
              const bool kept = upper ? right >= 0 : right <= 0;
              out[i] = kept ? x[i] : T{};
            });
  }

 private:
  bool upper_;
  int64_t k_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(trilu, TriluCUDAKernel<NumberAndBoolTypes>);

}  // namespace sluice
