#include "sluice/operators/indexing/device_indices.cuh"
#include "sluice/operators/indexing/one_hot.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Moves elements of any dtype that has the size of Unit.
template <typename Unit>
struct DeviceOneHot {
  OneHot one;
  DeviceIndices index;
  const Unit* values;
  Unit* out;

  __device__ void Set(int64_t at) const {
    const int64_t row = at / one.inner;
    const int64_t place = row % one.depth;
    const int64_t value = index[row / one.depth * one.inner + at % one.inner];
    const bool on = value == place || value == place - one.depth;
    out[at] = values[on ? 1 : 0];
  }
};

template <typename Unit>
void Fill(const CUDADeviceContext& device,
          const OneHot& one,
          const Tensor& x,
          const Tensor& values,
          Tensor* out) {
  const DeviceOneHot<Unit> fill{one,
                                {x.raw_data(), x.dtype() == DType::kInt64},
                                static_cast<const Unit*>(values.raw_data()),
                                static_cast<Unit*>(out->raw_data())};
  ForEach(device, out->numel(), [=] __device__(int64_t at) { fill.Set(at); });
}

class OneHotAnyCUDAKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    one_ = OneHot::Of(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const Tensor& x = context.Input(0);
    const Tensor& values = context.Input(1);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    switch (SizeOf(values.dtype())) {
      case 1:
        return Fill<uint8_t>(device, one_, x, values, &out);
      case 2:
        return Fill<uint16_t>(device, one_, x, values, &out);
      case 4:
        return Fill<uint32_t>(device, one_, x, values, &out);
      default:
        return Fill<uint64_t>(device, one_, x, values, &out);
    }
  }

 private:
  OneHot one_;
  DDim out_dims_;
};

template <typename T>
class OneHotCUDAKernel final : public OneHotAnyCUDAKernel {
 public:
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(one_hot, OneHotCUDAKernel<NumberAndBoolTypes>);

}  // namespace sluice
