#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// The range of Out that holds one input.
struct Part {
  int64_t first = 0;  // offset of its first element in Out
  DDim sizes;         // [outer, contiguous elements]
  int64_t row = 0;    // stride of the outer index in Out
};

// `out` is the shape of the concatenated inputs.
std::vector<Part> PartsOf(const DDim* inputs,
                          size_t count,
                          const DDim& out,
                          int64_t axis_of_x) {
  const int axis =
      static_cast<int>(axis_of_x < 0 ? axis_of_x + out.rank() : axis_of_x);
  const int64_t outer = out.Product(0, axis);
  const int64_t inner = out.Product(axis + 1, out.rank());
  std::vector<Part> parts;
  int64_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t side_by_side = inputs[i][axis] * inner;
    parts.push_back({first, {outer, side_by_side}, out[axis] * inner});
    first += side_by_side;
  }
  return parts;
}

class ConcatKernel final : public OpKernel {
 public:
  explicit ConcatKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    out_dims_ = preparation.query.outputs[0];
    size_ = SizeOf(preparation.query.input_dtypes[0]);
    parts_ = PartsOf(inputs.data(), inputs.size(), out_dims_, axis_);
    for (const Part& part : parts_) {
      copies_.emplace_back(part.sizes, StridedCopy::Strides{part.sizes[1], 1},
                           StridedCopy::Strides{part.row, 1}, size_);
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& output = context.AllocateOutput(0, out_dims_);
    auto* out = static_cast<char*>(output.raw_data());
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].sizes.numel() == 0) continue;
      const void* x = context.Input(static_cast<int>(i)).raw_data();
      // Out may be an alias of one input.
      if (x == out) continue;
      copies_[i](x, out + static_cast<size_t>(parts_[i].first) * size_);
    }
  }

 private:
  int64_t axis_;
  size_t size_ = 0;  // element size
  DDim out_dims_;
  std::vector<Part> parts_;
  std::vector<StridedCopy> copies_;
};

template <typename T>
class ConcatGradKernel final : public OpKernel {
 public:
  explicit ConcatGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        index_(construction.Attr<int64_t>("index")) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    const DDim& out = inputs.back();
    dims_ = inputs[index_];
    part_ = PartsOf(inputs.data(), inputs.size() - 1, out, axis_)[index_];
    copy_ = StridedCopy(part_.sizes, StridedCopy::Strides{part_.row, 1},
                        StridedCopy::Strides{part_.sizes[1], 1}, sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const T* out_grad = context.Input("Out@GRAD").data<T>();
    Tensor& x_grad = context.AllocateOutput(0, dims_);
    if (x_grad.numel() == 0) return;
    copy_(out_grad + part_.first, x_grad.data<T>());
  }

 private:
  int64_t axis_;
  int64_t index_;
  DDim dims_;
  Part part_;
  StridedCopy copy_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(concat, ConcatKernel);
REGISTER_OP_CPU_KERNEL(concat_grad, ConcatGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
