#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/conversion/quantize_range.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::KernelQuery;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;

// What the range of the data would be must be known on the host.
std::string RangeIsGiven(const KernelQuery& query) {
  return query.Attr<bool>("range_given") ? "" : "needs range_given";
}

template <typename T>
class QuantizeAndDequantizeCUDAKernel final : public OpKernel {
 public:
  explicit QuantizeAndDequantizeCUDAKernel(
      const OpKernelConstruction& construction)
      : range_(math::QuantizeRange<T>::Make(
            construction.Attr<double>("min"),
            construction.Attr<double>("max"),
            construction.Attr<int64_t>("num_bits"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    const T* x = input.data<T>();
    T* out = context.AllocateOutput("Out", input.dims()).template data<T>();
    const T least = range_.min;
    const T most = range_.max;
    const T scale = range_.scale;
    platform::ForEach(context.device_context<CUDADeviceContext>(),
                      input.numel(), [=] __device__(int64_t i) {
                        T value = x[i];
                        if (value != value) {
                          out[i] = value;  // NaN stays NaN
                          return;
                        }
                        value = value > most ? most : value;
                        value = value < least ? least : value;
                        const T level = (value - least) * scale;
                        // A sum with 0.5 would be rounded itself.
                        const T whole = floor(level);
                        const T nearest =
                            whole + (level - whole >= T(0.5) ? T(1) : T(0));
                        value = nearest / scale + least;
                        out[i] = value > most ? most : value;
                      });
  }

 private:
  math::QuantizeRange<T> range_;
};

}  // namespace

REGISTER_OP_KERNEL(quantize_and_dequantize,
                   PLAIN,
                   CUDAPlace,
                   plain,
                   KernelTraits().When(&RangeIsGiven),
                   QuantizeAndDequantizeCUDAKernel<float>,
                   QuantizeAndDequantizeCUDAKernel<double>);

}  // namespace sluice::operators
