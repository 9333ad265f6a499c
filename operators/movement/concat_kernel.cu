#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// The elements of one input in Out, which is a matrix with rows of `out_row`
// elements. The input has `row` elements of each.
struct Part {
  int64_t first = 0;
  int64_t row = 0;
  int64_t out_row = 0;
  int64_t count = 0;

  __device__ int64_t At(int64_t i) const {
    return first + i / row * out_row + i % row;
  }
};

class Parts {
 public:
  explicit Parts(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  // Plans `count` inputs; `out` is the shape of their concatenation.
  void Prepare(const DDim* inputs, size_t count, const DDim& out) {
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + out.rank() : axis_);
    const int64_t out_row = out.Product(axis, out.rank());
    int64_t first = 0;
    for (size_t i = 0; i < count; ++i) {
      const int64_t row = inputs[i].Product(axis, inputs[i].rank());
      parts_.push_back({first, row, out_row, inputs[i].numel()});
      first += row;
    }
  }

  size_t size() const { return parts_.size(); }
  const Part& operator[](size_t index) const { return parts_[index]; }

 private:
  int64_t axis_;
  std::vector<Part> parts_;
};

template <typename T>
class ConcatCUDAKernel final : public OpKernel {
 public:
  explicit ConcatCUDAKernel(const OpKernelConstruction& construction)
      : parts_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    out_dims_ = preparation.query.outputs[0];
    parts_.Prepare(inputs.data(), inputs.size(), out_dims_);
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, out_dims_).data<T>();
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part part = parts_[i];
      const T* x = context.Input(static_cast<int>(i)).data<T>();
      // Out may be an alias of one input.
      if (x == out) continue;
      ForEach(context.device_context<CUDADeviceContext>(), part.count,
              [=] __device__(int64_t j) { out[part.At(j)] = x[j]; });
    }
  }

 private:
  DDim out_dims_;
  Parts parts_;
};

template <typename T>
class ConcatGradCUDAKernel final : public OpKernel {
 public:
  explicit ConcatGradCUDAKernel(const OpKernelConstruction& construction)
      : index_(construction.Attr<int64_t>("index")), parts_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    dims_ = inputs[index_];
    parts_.Prepare(inputs.data(), inputs.size() - 1, inputs.back());
  }

  void Compute(OpKernelContext& context) const override {
    const Part part = parts_[index_];
    const T* out_grad = context.Input("Out@GRAD").data<T>();
    T* x_grad = context.AllocateOutput(0, dims_).data<T>();
    ForEach(context.device_context<CUDADeviceContext>(), part.count,
            [=] __device__(int64_t i) { x_grad[i] = out_grad[part.At(i)]; });
  }

 private:
  int64_t index_;
  DDim dims_;
  Parts parts_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(concat, ConcatCUDAKernel<NumberAndBoolTypes>);
REGISTER_OP_CUDA_KERNEL(concat_grad, ConcatGradCUDAKernel<FloatAndHalfTypes>);

}  // namespace sluice
