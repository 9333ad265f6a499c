#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// The type in which a T is computed: T itself or, for integers, modulo 2^64;
// the lower bits are kept.
template <typename T>
using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
Arithmetic<T> FromDouble(double value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
class ScaleCUDAKernel final : public OpKernel {
 public:
  explicit ScaleCUDAKernel(const OpKernelConstruction& construction)
      : scale_(FromDouble<T>(construction.Attr<double>("scale"))),
        bias_(FromDouble<T>(construction.Attr<double>("bias"))),
        bias_after_(construction.Attr<bool>("bias_after_scale")) {}

  void Compute(OpKernelContext& context) const override {
    using A = Arithmetic<T>;
    const Tensor& input = context.Input("X");
    const T* x = input.data<T>();
    T* out = context.AllocateOutput("Out", input.dims()).template data<T>();
    const A scale = scale_;
    const A bias = bias_;
    const bool bias_after = bias_after_;
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) {
              const A value = static_cast<A>(x[i]);
              out[i] = static_cast<T>(bias_after ? value * scale + bias
                                                 : (value + bias) * scale);
            });
  }

 private:
  Arithmetic<T> scale_;
  Arithmetic<T> bias_;
  bool bias_after_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(scale,
                        ScaleCUDAKernel<JoinTypes<FloatTypes, IndexTypes>>);

}  // namespace sluice
