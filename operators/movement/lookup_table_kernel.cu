#include "sluice/operators/movement/device_scatter_add.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void RaiseId(int64_t position, int64_t value, int64_t rows) {
  Raise(ErrorCode::kOutOfRange, "lookup_table.id_range_on_device",
        "lookup_table: element {} of input Ids, {}, is outside of "
        "[0, {}), the rows of input W",
        position, value, rows);
}

// Computes out[i, :] = w[ids[i], :], or 0 for the id `padding`.
template <typename T, typename Index>
struct Lookup {
  const T* w;
  const Index* ids;
  T* out;
  int64_t width;
  int64_t padding;

  __device__ void Copy(int64_t at, const DataCheck& check) const {
    const int64_t i = at / width;
    const auto id = static_cast<int64_t>(ids[i]);
    if (!check.Inside(i, id)) return;
    out[at] = id == padding ? T{0} : w[id * width + at % width];
  }
};

template <typename T>
class LookupTableCUDAKernel final : public OpKernel {
 public:
  explicit LookupTableCUDAKernel(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    w_dims_ = preparation.query.inputs[0];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(), [&]<typename Index>() {
      ComputeWith(context, context.Input(1).template data<Index>());
    });
  }

  template <typename Index>
  void ComputeWith(OpKernelContext& context, const Index* ids) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DataCheck check(device, w_dims_[0], &RaiseId);
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    if (w_dims_[1] == 0) {  // ids are still checked
      ForEach(device, context.Input(1).numel(), [=] __device__(int64_t i) {
        check.Inside(i, static_cast<int64_t>(ids[i]));
      });
      return;
    }
    const Lookup<T, Index> lookup{context.Input(0).data<T>(), ids, out,
                                  w_dims_[1], padding_};
    ForEach(device, out_dims_.numel(),
            [=] __device__(int64_t at) { lookup.Copy(at, check); });
  }

 private:
  int64_t padding_;
  DDim w_dims_;
  DDim out_dims_;
};

template <typename T>
class LookupTableGradCUDAKernel final : public OpKernel {
 public:
  explicit LookupTableGradCUDAKernel(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    w_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(), [&]<typename Index>() {
      ComputeWith(context, context.Input(1).template data<Index>());
    });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context, const Index* ids) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DeviceScatterAdd<T, Index> scatter{
        .x = context.Input(2).data<T>(),
        .index = ids,
        .out = context.AllocateOutput(0, w_dims_).template data<T>(),
        .outer = 1,
        .size = w_dims_[0],
        .count = context.Input(1).numel(),
        .inner = w_dims_[1],
        .skipped = padding_};
    scatter.Run(device, {device, scatter.size, &RaiseId});
  }

  int64_t padding_;
  DDim w_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(lookup_table, LookupTableCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(lookup_table_grad,
                        LookupTableGradCUDAKernel<FloatTypes>);

}  // namespace sluice
