#include <algorithm>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"
#include "sluice/platform/parallel_for.h"

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

// The windows along height or width: element i of window w is index
// w * stride + i * dilation - before of X.
struct UnfoldAxis {
  int64_t size = 0;  // of X
  int64_t kernel = 1;
  int64_t windows = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;

  int64_t FirstIndex(int64_t i) const { return i * dilation - before; }
  // Sets [begin, end) to the windows whose element i is inside of X.
  void Inside(int64_t i, int64_t* begin, int64_t* end) const {
    const int64_t first = FirstIndex(i);
    *begin = first >= 0 ? 0 : std::min((stride - 1 - first) / stride, windows);
    const int64_t left = size - first;  // indices up to the end of X
    *end = left <= 0 ? 0 : std::min((left - 1) / stride + 1, windows);
    *end = std::max(*begin, *end);
  }
};

struct UnfoldGeometry {
  UnfoldGeometry() = default;
  UnfoldGeometry(const KernelQuery& query, const DDim& x)
      : images(x[0] * x[1]) {
    const Ints& pads = query.Attr<Ints>("paddings");
    UnfoldAxis* const axes[] = {&height, &width};
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      UnfoldAxis& axis = *axes[at];
      axis.size = x[i + 2];
      axis.kernel = query.Attr<Ints>("kernel_sizes")[at];
      axis.stride = query.Attr<Ints>("strides")[at];
      axis.dilation = query.Attr<Ints>("dilations")[at];
      axis.before = pads.size() == 4 ? pads[2 * at] : pads[at];
      const int64_t after = pads.size() == 4 ? pads[2 * at + 1] : pads[at];
      const int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
      axis.windows =
          (axis.size + axis.before + after - extent) / axis.stride + 1;
    }
  }

  int64_t image() const { return height.size * width.size; }
  int64_t windows() const { return height.windows * width.windows; }
  int64_t kernel() const { return height.kernel * width.kernel; }

  int64_t images = 0;  // times channels
  UnfoldAxis height;
  UnfoldAxis width;
};

// Writes row `row` of Out: one element of all windows of a channel.
template <typename Unit>
void UnfoldRow(const UnfoldGeometry& g, int64_t row, const Unit* x, Unit* out) {
  const int64_t j = row % g.width.kernel;
  const int64_t i = row / g.width.kernel % g.height.kernel;
  const Unit* const from =
      x + row / g.kernel() * g.image() + g.width.FirstIndex(j);
  Unit* to = out + row * g.windows();
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  g.height.Inside(i, &top, &bottom);
  g.width.Inside(j, &left, &right);
  for (int64_t y = 0; y < g.height.windows; ++y, to += g.width.windows) {
    if (y < top || y >= bottom) {
      std::fill_n(to, g.width.windows, Unit{});
      continue;
    }
    const Unit* const line =
        from + (g.height.FirstIndex(i) + y * g.height.stride) * g.width.size;
    std::fill_n(to, left, Unit{});
    for (int64_t w = left; w < right; ++w) {
      to[w] = line[w * g.width.stride];
    }
    std::fill_n(to + right, g.width.windows - right, Unit{});
  }
}

template <typename Unit>
void UnfoldAll(const UnfoldGeometry& g, const void* x, void* out) {
  const int64_t grain = std::max<int64_t>(kGrain / g.windows(), 1);
  ParallelFor(g.images * g.kernel(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      UnfoldRow(g, row, static_cast<const Unit*>(x), static_cast<Unit*>(out));
    }
  });
}

class UnfoldKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    out_dims_ = query.outputs[0];
    size_ = SizeOf(query.input_dtypes[0]);
    geometry_ = UnfoldGeometry(query, query.inputs[0]);
  }

  void Compute(OpKernelContext& context) const override {
    void* const out = context.AllocateOutput(0, out_dims_).raw_data();
    if (out_dims_.numel() == 0) return;
    const void* const x = context.Input(0).raw_data();
    if (size_ == 1) return UnfoldAll<uint8_t>(geometry_, x, out);
    if (size_ == 2) return UnfoldAll<uint16_t>(geometry_, x, out);
    if (size_ == 4) return UnfoldAll<uint32_t>(geometry_, x, out);
    UnfoldAll<uint64_t>(geometry_, x, out);
  }

 private:
  size_t size_ = 0;
  DDim out_dims_;
  UnfoldGeometry geometry_;
};

// Sets `sums` to the gradient of one channel of an image. `grads` are the rows
// of Out@GRAD for it.
template <typename T, typename Sum>
void FoldImage(const UnfoldGeometry& g, const T* grads, Sum* sums) {
  std::fill_n(sums, g.image(), Sum{});
  for (int64_t i = 0; i < g.height.kernel; ++i) {
    int64_t top = 0, bottom = 0;
    g.height.Inside(i, &top, &bottom);
    for (int64_t j = 0; j < g.width.kernel; ++j, grads += g.windows()) {
      int64_t left = 0, right = 0;
      g.width.Inside(j, &left, &right);
      for (int64_t y = top; y < bottom; ++y) {
        const T* const from = grads + y * g.width.windows;
        Sum* const line =
            sums + g.width.FirstIndex(j) +
            (g.height.FirstIndex(i) + y * g.height.stride) * g.width.size;
        for (int64_t w = left; w < right; ++w) {
          line[w * g.width.stride] += Widen(from[w]);
        }
      }
    }
  }
}

// Halves are summed in float.
template <typename T>
class UnfoldGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    geometry_ = UnfoldGeometry(query, x_dims_);
    if constexpr (kIsHalf<T>) {
      preparation.scratch_bytes =
          static_cast<size_t>(x_dims_.numel()) * sizeof(Computed<T>);
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    const UnfoldGeometry& g = geometry_;
    const T* const from = context.Input(1).template data<T>();
    T* const to = x_grad.data<T>();
    auto* const scratch = static_cast<Computed<T>*>(context.scratch());
    const int64_t size = g.image();
    const int64_t row = g.kernel() * g.windows();
    const int64_t grain = std::max<int64_t>(kGrain / std::max(size, row), 1);
    ParallelFor(g.images, grain, [=, &g](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (kIsHalf<T>) {
          FoldImage(g, from + i * row, scratch + i * size);
          for (int64_t k = i * size; k < (i + 1) * size; ++k) {
            to[k] = Narrow<T>(scratch[k]);
          }
        } else {
          FoldImage(g, from + i * row, to + i * size);
        }
      }
    });
  }

 private:
  DDim x_dims_;
  UnfoldGeometry geometry_;
};

}  // namespace

REGISTER_OPERATOR(unfold, WithGradient<kUnfoldGrad>);
REGISTER_OPERATOR(unfold_grad, GradientSchema<kUnfoldGrad>);
REGISTER_OP_CPU_KERNEL(unfold, UnfoldKernel);
REGISTER_OP_CPU_KERNEL(unfold_grad, UnfoldGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
