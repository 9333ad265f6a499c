#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/data_check.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

void RaiseIndex(int64_t position, int64_t value, int64_t size) {
  Raise(ErrorCode::kOutOfRange, "gather.index_range_on_device",
        "gather: element {} of input Index, {}, is outside of "
        "{}, the dim of input X",
        position, value, IndexRange(size));
}

// Computes out[o, i, :] = x[o, index[i], :].
template <typename T, typename Index>
struct Gather {
  const T* x;
  const Index* index;
  T* out;
  int64_t size;
  int64_t count;
  int64_t inner;

  // Negative indices count from the end.
  __device__ int64_t At(int64_t i) const {
    const auto given = static_cast<int64_t>(index[i]);
    return given < 0 && given >= -size ? given + size : given;
  }

  __device__ void Copy(int64_t at, const DataCheck& check) const {
    const int64_t row = at / inner;
    const int64_t outer = row / count;
    const int64_t i = row % count;
    const int64_t from = At(i);
    if (check.Inside(i, from)) {
      out[at] = x[(outer * size + from) * inner + at % inner];
    }
  }
};

template <typename T>
class GatherCUDAKernel final : public OpKernel {
 public:
  explicit GatherCUDAKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + x.rank() : axis_);
    size_ = x[axis];
    inner_ = x.Product(axis + 1, x.rank());
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& index = context.Input(1);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (index.numel() == 0) return;
    VisitIndex(index.dtype(), [&]<typename Index>() {
      ComputeWith(context, index, index.template data<Index>(), &out);
    });
  }

  template <typename Index>
  void ComputeWith(OpKernelContext& context,
                   const Tensor& indices,
                   const Index* index,
                   Tensor* out) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DataCheck check(device, size_, &RaiseIndex);
    if (out->numel() == 0) {  // indices are still checked
      const Gather<T, Index> gather{nullptr, index, nullptr, size_, 0, 0};
      ForEach(device, indices.numel(),
              [=] __device__(int64_t i) { check.Inside(i, gather.At(i)); });
      return;
    }
    const Gather<T, Index> gather{context.Input(0).data<T>(),
                                  index,
                                  out->data<T>(),
                                  size_,
                                  indices.numel(),
                                  inner_};
    ForEach(device, out->numel(),
            [=] __device__(int64_t at) { gather.Copy(at, check); });
  }

 private:
  int64_t axis_;
  int64_t size_ = 0;
  int64_t inner_ = 0;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(gather, GatherCUDAKernel<NumberAndBoolTypes>);

}  // namespace sluice
