#include "sluice/operators/indexing/device_indices.cuh"
#include "sluice/operators/indexing/indexed_slices.h"
#include "sluice/operators/registration.h"

// gather_elements and gather_nd.
namespace sluice {
namespace {

// Computes out[i, :] = x[places(i), :] for elements of the size of Unit.
template <typename Unit>
struct DeviceGather {
  DevicePlaces places;
  const Unit* x;
  Unit* out;

  __device__ void Copy(int64_t at) const {
    const int64_t inner = places.plan.inner;
    const int64_t place = places.At(at / inner);
    if (place >= 0) out[at] = x[place * inner + at % inner];
  }
};

template <typename Unit>
void Gather(const CUDADeviceContext& device,
            const DevicePlaces& places,
            const Tensor& x,
            Tensor* out) {
  const DeviceGather<Unit> gather{places,
                                  static_cast<const Unit*>(x.raw_data()),
                                  static_cast<Unit*>(out->raw_data())};
  ForEach(device, out->numel(),
          [=] __device__(int64_t at) { gather.Copy(at); });
}

class GatherAnyCUDAKernel : public OpKernel {
 public:
  explicit GatherAnyCUDAKernel(const OpKernelConstruction& construction)
      : raise_(RaiseOutsideOf(construction.op())) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = IndexPlanOf(query, query.inputs[0], query.inputs[1]);
    out_dims_ = query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const Tensor& x = context.Input(0);
    const DevicePlaces places(context, plan_, raise_);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return places.CheckOnly(device);
    switch (SizeOf(x.dtype())) {
      case 1:
        return Gather<uint8_t>(device, places, x, &out);
      case 2:
        return Gather<uint16_t>(device, places, x, &out);
      case 4:
        return Gather<uint32_t>(device, places, x, &out);
      default:
        return Gather<uint64_t>(device, places, x, &out);
    }
  }

 private:
  RaiseOutside raise_;
  IndexPlan plan_;
  DDim out_dims_;
};

template <typename T>
class GatherByIndexCUDAKernel final : public GatherAnyCUDAKernel {
 public:
  using GatherAnyCUDAKernel::GatherAnyCUDAKernel;
};

template <typename T>
class GatherByIndexGradCUDAKernel final : public OpKernel {
 public:
  explicit GatherByIndexGradCUDAKernel(const OpKernelConstruction& construction)
      : raise_(RaiseOutsideOf(construction.op())) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    plan_ = IndexPlanOf(query, x_dims_, query.inputs[1]);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DevicePlaces places(context, plan_, raise_);
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return places.CheckOnly(device);
    T* out = x_grad.data<T>();
    FillZero(device, out, x_grad.bytes());
    const DeviceScatter<T> scatter{places, ScatterReduction::kAdd,
                                   context.Input(2).data<T>(), out};
    scatter.Run(device);
  }

 private:
  RaiseOutside raise_;
  IndexPlan plan_;
  DDim x_dims_;
};

void AddGatherKernels(Registry& registry) {
  const CUDAPlace cuda;
  for (const std::string name : {"gather_elements", "gather_nd"}) {
    AddPlainKernels<GatherByIndexCUDAKernel<NumberAndBoolTypes>>(registry, name,
                                                                 cuda);
    AddPlainKernels<GatherByIndexGradCUDAKernel<FloatTypes>>(
        registry, name + "_grad", cuda);
  }
}

}  // namespace

REGISTER_TABLE(cuda_gather_by_index, AddGatherKernels);

}  // namespace sluice
