#include <eigen_gpu.cuh>

#include "sluice/operators/math/conversion/quantize_and_dequantize.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// The range must be known on the host, so it cannot come from the data.
std::string RangeIsGiven(const KernelQuery& query) {
  return query.Attr<bool>("range_given") ? "" : "needs range_given";
}

// Evaluates the op's formula element by element.
struct QuantizeElements {
  // nvcc requires a function with a lambda to be public and named.
  template <typename T>
  static void Run(const CUDADeviceContext& device,
                  const T* x,
                  int64_t count,
                  const QuantizeRange<T>& range,
                  T* out) {
    const T least = range.min;
    const T most = range.max;
    const T scale = range.scale;
    ForEach(device, count, [=] __device__(int64_t i) {
      T value = x[i];
      if (value != value) {
        out[i] = value;  // NaN stays NaN
        return;
      }
      value = value > most ? most : value;
      value = value < least ? least : value;
      const T level = (value - least) * scale;
      // Adding 0.5 would round.
      const T whole = floor(level);
      const T nearest = whole + (level - whole >= T(0.5) ? T(1) : T(0));
      value = nearest / scale + least;
      out[i] = value > most ? most : value;
    });
  }
};

// Evaluates the same expression as the Eigen kernel on the CPU.
struct QuantizeExpression {
  template <typename T>
  static void Run(const CUDADeviceContext& device,
                  const T* x,
                  int64_t count,
                  const QuantizeRange<T>& range,
                  T* out) {
    QuantizeAndDequantizeOneScale<Eigen::GpuDevice, T, T>()(
        device.eigen_device(), x, count, range, out);
  }
};

template <typename T, typename Quantize>
class QuantizeAndDequantizeCUDAKernel final : public OpKernel {
 public:
  explicit QuantizeAndDequantizeCUDAKernel(
      const OpKernelConstruction& construction)
      : range_(QuantizeRange<T>::Make(construction.Attr<double>("min"),
                                      construction.Attr<double>("max"),
                                      construction.Attr<int64_t>("num_bits"))) {
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    T* out = context.AllocateOutput("Out", x.dims()).template data<T>();
    Quantize::Run(context.device_context<CUDADeviceContext>(), x.data<T>(),
                  x.numel(), range_, out);
  }

 private:
  QuantizeRange<T> range_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(
    quantize_and_dequantize,
    EstimatedBy<&DefaultKernelWork>,
    TakenWhen<&RangeIsGiven>,
    QuantizeAndDequantizeCUDAKernel<FloatTypes, QuantizeElements>);
REGISTER_OP_KERNEL(
    quantize_and_dequantize,
    EIGEN,
    CUDAPlace,
    expression,
    KernelTraits().Estimate(&DefaultKernelWork).When(&RangeIsGiven),
    QuantizeAndDequantizeCUDAKernel<FloatTypes, QuantizeExpression>);

}  // namespace sluice
