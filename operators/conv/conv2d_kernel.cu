#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/conv/device_im2col.cuh"
#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// The patches of 1 x 1 windows equal the input.
bool IsItsPatches(const Conv2dGeometry& g) {
  return g.pointwise() && !g.nhwc;
}

// Adds the product of filter and patches to the output of `images` images.
template <typename T>
void Forward(const CUDADeviceContext& device,
             const Conv2dGeometry& g,
             const Conv2dChunks& chunks,
             int64_t images,
             const T* patches,
             const T* filter,
             T* output) {
  const int64_t pixels = chunks.pixels, patch = g.patch();
  const int64_t group = g.group_out_c();
  const int64_t all = chunks.rows * pixels, out = g.out_c * pixels;
  if (g.nhwc) {
    GemmOfImagesAndGroups<T>(device,
                             {true, true, pixels, group, patch, 1, patches,
                              pixels, filter, patch, 1, output, g.out_c},
                             {images, all, 0, out},
                             {g.groups, patch * pixels, group * patch, group});
  } else {
    GemmOfImagesAndGroups<T>(
        device,
        {false, false, group, pixels, patch, 1, filter, patch, patches, pixels,
         1, output, pixels},
        {images, 0, all, out},
        {g.groups, group * patch, patch * pixels, group * pixels});
  }
}

template <typename T>
class Conv2dCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    g_ = Conv2dGeometryOf(preparation.query);
    dims_ = preparation.query.outputs[0];
    chunks_ = Conv2dChunks(g_, sizeof(T));
    if (IsItsPatches(g_)) return;
    preparation.scratch_bytes =
        static_cast<size_t>(chunks_.elements()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    T* out = context.AllocateOutput(0, dims_).data<T>();
    if (g_.output_size() == 0) return;
    DeviceFillWithBias(
        device,
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr,
        g_.out_c, g_.nhwc ? 1 : chunks_.pixels, g_.output_size(), out);
    if (g_.patch() == 0) return;
    const T* input = context.Input("Input").data<T>();
    const T* filter = context.Input("Filter").data<T>();
    for (int64_t first = 0; first < g_.n; first += chunks_.images) {
      const int64_t images = std::min(chunks_.images, g_.n - first);
      const T* from = input + first * g_.in_c * g_.in_pixels();
      if (!IsItsPatches(g_)) {
        T* patches = static_cast<T*>(context.scratch());
        DeviceIm2Col(device, g_, chunks_, images, from, patches);
        from = patches;
      }
      Forward(device, g_, chunks_, images, from, filter,
              out + first * g_.out_c * chunks_.pixels);
    }
  }

 private:
  Conv2dGeometry g_;
  Conv2dChunks chunks_;
  DDim dims_;
};

template <typename T>
class Conv2dGradInputCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    g_ = Conv2dGeometryOf(preparation.query);
    chunks_ = Conv2dChunks(g_, sizeof(T));
    dims_ = preparation.query.inputs[0];
    if (IsItsPatches(g_)) return;
    preparation.scratch_bytes =
        static_cast<size_t>(chunks_.elements()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    Tensor& gradient = context.AllocateOutput(0, dims_);
    if (gradient.numel() == 0) return;
    T* out = gradient.data<T>();
    if (g_.out_c == 0) {
      FillZero(device, out, gradient.bytes());
      return;
    }
    const T* filter = context.Input("Filter").data<T>();
    const T* grad = context.Input("Output@GRAD").data<T>();
    for (int64_t first = 0; first < g_.n; first += chunks_.images) {
      const int64_t images = std::min(chunks_.images, g_.n - first);
      T* to = out + first * g_.in_c * g_.in_pixels();
      T* patches = IsItsPatches(g_) ? to : static_cast<T*>(context.scratch());
      DeviceBackwardToPatches(device, g_, chunks_, images, filter,
                              grad + first * g_.out_c * chunks_.pixels,
                              patches);
      if (patches == to) continue;
      const T* const no_bias = nullptr;
      DeviceCol2Im(device, g_, images, patches, no_bias, to);
    }
  }

 private:
  Conv2dGeometry g_;
  Conv2dChunks chunks_;
  DDim dims_;
};

template <typename T>
class Conv2dGradFilterCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    g_ = Conv2dGeometryOf(preparation.query);
    chunks_ = Conv2dChunks(g_, sizeof(T));
    dims_ = preparation.query.inputs[1];
    bias_ = SumPlan(g_.out_c, g_.n * g_.out_pixels());
    // Holds sums of the bias first, then patches and a permuted gradient.
    const int64_t turned = chunks_.images * g_.out_c * chunks_.pixels;
    preparation.scratch_bytes =
        std::max(static_cast<size_t>(chunks_.elements() + turned) * sizeof(T),
                 bias_.scratch_bytes());
  }

  void Compute(OpKernelContext& context) const override {
    if (context.HasOutput("Bias@GRAD")) BiasGradient(context);
    if (!context.HasOutput("Filter@GRAD")) return;
    const auto& device = context.device_context<CUDADeviceContext>();
    Tensor& gradient = context.AllocateOutput("Filter@GRAD", dims_);
    if (gradient.numel() == 0) return;
    T* out = gradient.data<T>();
    if (g_.n == 0) {
      FillZero(device, out, gradient.bytes());
      return;
    }
    const T* input = context.Input("Input").data<T>();
    const T* grad = context.Input("Output@GRAD").data<T>();
    T* patches = static_cast<T*>(context.scratch());
    for (int64_t first = 0; first < g_.n; first += chunks_.images) {
      const int64_t images = std::min(chunks_.images, g_.n - first);
      DeviceIm2ColOfAll(device, g_, chunks_, images,
                        input + first * g_.in_c * g_.in_pixels(), patches);
      const T* matrix = GradientMatrix(device, images,
                                       grad + first * g_.out_c * chunks_.pixels,
                                       patches + chunks_.elements());
      Multiply(device, images * chunks_.pixels, matrix, patches,
               static_cast<T>(first == 0 ? 0 : 1), out);
    }
  }

  void BiasGradient(OpKernelContext& context) const {
    const T* grad = context.Input("Output@GRAD").data<T>();
    T* out = context.AllocateOutput("Bias@GRAD", {g_.out_c}).data<T>();
    const int64_t channels = g_.out_c;
    const int64_t run = g_.nhwc ? 1 : g_.out_pixels();
    Sum(
        context.device_context<CUDADeviceContext>(), bias_, context.scratch(),
        [=] __device__(int64_t channel, int64_t i) -> double {
          return grad[(i / run * channels + channel) * run + i % run];
        },
        StoreSum<T>{out});
  }

  // Returns the gradient of the output as [channel][image][pixel] if channels
  // come first. If they are last, returns it unchanged.
  const T* GradientMatrix(const CUDADeviceContext& device,
                          int64_t images,
                          const T* grad,
                          T* turned) const {
    if (g_.nhwc || images == 1) return grad;
    const int64_t pixels = chunks_.pixels, channels = g_.out_c;
    ForEach(device, channels * images * pixels, [=] __device__(int64_t i) {
      const int64_t line = i / pixels;
      turned[i] = grad[(line % images * channels + line / images) * pixels +
                       i % pixels];
    });
    return turned;
  }

 private:
  void Multiply(const CUDADeviceContext& device,
                int64_t windows,
                const T* matrix,
                const T* patches,
                T beta,
                T* out) const {
    const int64_t patch = g_.patch(), group = g_.group_out_c();
    DeviceGemm<T>(
        device,
        {g_.nhwc, true, group, patch, windows, 1, matrix,
         g_.nhwc ? g_.out_c : windows, patches, windows, beta, out, patch},
        {g_.groups, g_.nhwc ? group : group * windows, patch * windows,
         group * patch});
  }

  Conv2dGeometry g_;
  Conv2dChunks chunks_;
  DDim dims_;
  SumPlan bias_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(conv2d, Conv2dCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(conv2d_grad_input,
                        Conv2dGradInputCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(conv2d_grad_filter,
                        Conv2dGradFilterCUDAKernel<FloatTypes>);

}  // namespace sluice
