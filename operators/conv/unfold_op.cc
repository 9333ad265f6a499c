#include <algorithm>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/volume_windows.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// Returns [N, C * kernel_sizes, windows] for images X of [N, C, H, W].
DDim UnfoldedDims(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  std::vector<WindowAxis> axes = WindowAxes(context);
  ReadDilations(context, &axes);
  const Ints& kernel = WindowInts(context, "kernel_sizes");
  int64_t rows = x[1];
  int64_t windows = 1;
  bool fits = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].kernel = kernel[i];
    const int64_t count =
        WindowCount(context, axes[i], x[static_cast<int>(i) + 2]);
    if (rows >= 0) fits &= !__builtin_mul_overflow(rows, kernel[i], &rows);
    if (count < 0 || windows < 0) {
      windows = kUnknownDim;
    } else {
      fits &= !__builtin_mul_overflow(windows, count, &windows);
    }
  }
  context.Require(fits, "unfold.overflow",
                  "the windows of input X {} do not fit into 64 bits", x);
  return {x[0], rows, windows};
}

void UnfoldSchema(OpSchema& op) {
  op.Doc(
      "The elements under a window that slides over images, as columns: "
      "Out[n, (c * kernel height + i) * kernel width + j, y * windows a row + "
      "x] = X[n, c, y * stride + i * dilation, x * stride + j * dilation] "
      "(im2col).");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Images [N, C, H, W].");
  op.Output("Out", "T", "[N, C * elements of a window, windows].");
  op.Attr<Ints>("kernel_sizes", "The height and width of a window.").AtLeast(1);
  op.Attr<Ints>("strides", "From one window to the next: down, and right.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "How many zeros surround X: height, width; or top, bottom, "
                "left, right.")
      .Default(Ints{0, 0});
  op.Attr<Ints>("dilations", "From one element of a window to the next.")
      .Default(Ints{1, 1});
  op.InferShape(OutShape<UnfoldedDims>);
}

constexpr GradientOp kUnfoldGrad = {
    .forward = UnfoldSchema,
    .doc =
        "The gradient of unfold: that of each element of X is the sum over the "
        "windows that it is in (col2im).",
    .inputs = {ShapeOf("X")},
    .dims = UnfoldedDims};

VolumeWindows UnfoldWindows(const KernelQuery& query, const DDim& x) {
  return WindowsOver(query, x, query.Attr<Ints>("kernel_sizes"));
}

class UnfoldKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    out_dims_ = query.outputs[0];
    size_ = SizeOf(query.input_dtypes[0]);
    channels_ = query.inputs[0][0] * query.inputs[0][1];
    windows_ = UnfoldWindows(query, query.inputs[0]);
  }

  void Compute(OpKernelContext& context) const override {
    void* const out = context.AllocateOutput(0, out_dims_).raw_data();
    if (out_dims_.numel() == 0) return;
    const void* const x = context.Input(0).raw_data();
    if (size_ == 1) return Gather<uint8_t>(x, out);
    if (size_ == 2) return Gather<uint16_t>(x, out);
    if (size_ == 4) return Gather<uint32_t>(x, out);
    Gather<uint64_t>(x, out);
  }

 private:
  template <typename Unit>
  void Gather(const void* x, void* out) const {
    GatherPatches(windows_, channels_, windows_.in(),
                  static_cast<const Unit*>(x), static_cast<Unit*>(out));
  }

  size_t size_ = 0;
  int64_t channels_ = 0;  // of all images
  DDim out_dims_;
  VolumeWindows windows_;
};

// Halves are summed in float.
template <typename T>
class UnfoldGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    windows_ = UnfoldWindows(query, x_dims_);
    if constexpr (kIsHalf<T>) {
      preparation.scratch_bytes =
          static_cast<size_t>(x_dims_.numel()) * sizeof(Computed<T>);
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    const T* const from = context.Input(1).template data<T>();
    T* const to = x_grad.data<T>();
    auto* const scratch = static_cast<Computed<T>*>(context.scratch());
    const int64_t size = windows_.in();
    const int64_t row = windows_.kernel() * windows_.out();
    const int64_t grain = std::max<int64_t>(kGrain / std::max(size, row), 1);
    ParallelFor(x_dims_[0] * x_dims_[1], grain,
                [=, this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    if constexpr (kIsHalf<T>) {
                      Fold(from + i * row, scratch + i * size);
                      for (int64_t k = i * size; k < (i + 1) * size; ++k) {
                        to[k] = Narrow<T>(scratch[k]);
                      }
                    } else {
                      Fold(from + i * row, to + i * size);
                    }
                  }
                });
  }

 private:
  // Sets `sums` to the gradient of one channel of an image.
  void Fold(const T* patches, Computed<T>* sums) const {
    std::fill_n(sums, windows_.in(), Computed<T>{});
    AddPatches(
        windows_, patches, [](T value) { return Widen(value); }, sums);
  }

  DDim x_dims_;
  VolumeWindows windows_;
};

}  // namespace

REGISTER_OPERATOR(unfold, WithGradient<kUnfoldGrad>);
REGISTER_OPERATOR(unfold_grad, GradientSchema<kUnfoldGrad>);
REGISTER_OP_CPU_KERNEL(unfold, UnfoldKernel);
REGISTER_OP_CPU_KERNEL(unfold_grad, UnfoldGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
