#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/conv/device_im2col.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class Conv2dTransposeCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    g_ = Conv2dGeometryOf(preparation.query);
    chunks_ = Conv2dChunks(g_, sizeof(T));
    dims_ = preparation.query.outputs[0];
    preparation.scratch_bytes =
        static_cast<size_t>(chunks_.elements()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    T* out = context.AllocateOutput(0, dims_).template data<T>();
    if (g_.input_size() == 0) return;
    const T* bias =
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
    if (g_.out_c == 0) {  // nothing to multiply
      DeviceFillWithBias(device, bias, g_.in_c, g_.nhwc ? 1 : g_.in_pixels(),
                         g_.input_size(), out);
      return;
    }
    const T* input = context.Input("Input").data<T>();
    const T* filter = context.Input("Filter").data<T>();
    T* patches = static_cast<T*>(context.scratch());
    for (int64_t first = 0; first < g_.n; first += chunks_.images) {
      const int64_t images = std::min(chunks_.images, g_.n - first);
      DeviceBackwardToPatches(device, g_, chunks_, images, filter,
                              input + first * g_.out_c * chunks_.pixels,
                              patches);
      DeviceCol2Im(device, g_, images, patches, bias,
                   out + first * g_.in_c * g_.in_pixels());
    }
  }

 private:
  Conv2dGeometry g_;
  Conv2dChunks chunks_;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(conv2d_transpose,
                        Conv2dTransposeCUDAKernel<FloatTypes>);

}  // namespace sluice
