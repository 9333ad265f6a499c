#include <algorithm>

#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void AffineGridShape(InferShapeContext& context) {
  const Ints& size = context.Attr<Ints>("size");
  context.Require(size.size() == 4 || size.size() == 5, "affine_grid.size",
                  "attribute size has {} entries; expected [N, C, H, W] or [N, "
                  "C, D, H, W]",
                  size.size());
  for (size_t i = 0; i < size.size(); ++i) {
    context.Require(size[i] >= 0, "affine_grid.negative",
                    "size[{}] = {}; expected a size", i, size[i]);
  }
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  const auto theta = context.WithRank(context.input("Theta"), 3);
  if (theta.dims.rank_known()) {
    context.WithValue(context.Dim(theta, 0), size[0]);
    context.WithValue(context.Dim(theta, 1), dims);
    context.WithValue(context.Dim(theta, 2), dims + 1);
  }
  Ints out(size.begin() + 2, size.end());
  out.insert(out.begin(), size[0]);
  out.push_back(dims);
  context.SetOutput("Out", DDim(out));
}

// Out's rank is the length of attribute size.
void AffineGridLateShape(InferShapeContext& context) {
  const auto theta = context.WithRank(context.input("Theta"), 3);
  if (!theta.dims.rank_known() || theta.dims[1] < 0) {
    return context.SetOutput("Out", DDim::UnknownRank());
  }
  const int64_t dims = theta.dims[1];
  context.Require(dims == 2 || dims == 3, "affine_grid.theta",
                  "input Theta {} has {} rows; expected 2 or 3", theta.dims,
                  dims);
  Ints out(static_cast<size_t>(dims) + 2, kUnknownDim);
  out.front() = theta.dims[0];
  out.back() = dims;
  context.SetOutput("Out", DDim(out));
}

void AffineGridGradShape(InferShapeContext& context) {
  const DDim grad = context.input("Out@GRAD");
  DDim theta = {kUnknownDim, kUnknownDim, kUnknownDim};
  if (grad.rank_known()) {
    const int dims = grad.rank() - 2;
    context.Require(dims == 2 || dims == 3, "affine_grid_grad.rank",
                    "input Out@GRAD {} has rank {}; expected 4 or 5", grad,
                    grad.rank());
    context.WithValue(context.Dim(context.input("Out@GRAD"), dims + 1), dims);
    theta = {grad[0], dims, dims + 1};
  }
  context.SetOutput("Theta@GRAD", theta);
}

void AffineGridSchema(OpSchema& op) {
  op.Doc(
      "Positions for grid_sample: those of an even grid from -1 to 1, each "
      "transformed by Theta: Out[n, y, x] = Theta[n] * (x, y, 1).");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", IndexDTypes());
  op.Input("Theta", "T", "[N, 2, 3], or [N, 3, 4] for volumes.");
  op.Output("Out", "T", "[N, H, W, 2] or [N, D, H, W, 3].");
  op.Attr<Ints>("size",
                "What grid_sample is to give: [N, C, H, W] or [N, C, D, H, "
                "W].");
  op.Attr<bool>("align_corners",
                "The first and the last position are -1 and 1, and a single "
                "one is 0; else they are the middles of equal parts of that "
                "range.")
      .Default(false);
  op.Operand("Size", "size", "S", "Attribute size as a vector.");
  op.InferShape(AffineGridShape).InferLateShape(AffineGridLateShape);
  op.Onnx({"AffineGrid", {}});
}

constexpr GradientOp kAffineGridGrad = {
    .forward = AffineGridSchema,
    .doc =
        "The gradient of affine_grid: Theta@GRAD[n] is the sum over all "
        "positions of Out@GRAD[n, y, x] times (x, y, 1).",
    .wanted = {"Theta"},
    .without = {"size"},
    .shape = AffineGridGradShape};

// Sets position (x, y, z) to that of point `index` of a grid of `dims`.
void PositionOf(int64_t index,
                const DDim& dims,
                bool align_corners,
                double (&position)[3]) {
  const int count = dims.rank() - 2;
  for (int d = 0; d < count; ++d) {
    const int64_t size = dims[count - d];
    const auto at = static_cast<double>(index % size);
    const auto length = static_cast<double>(size);
    position[d] = !align_corners ? (2 * at + 1) / length - 1
                  : size == 1    ? 0
                                 : 2 * at / (length - 1) - 1;
    index /= size;
  }
}

template <typename T>
class AffineGridKernel final : public OpKernel {
 public:
  explicit AffineGridKernel(const OpKernelConstruction& construction)
      : align_corners_(construction.Attr<bool>("align_corners")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    constexpr int64_t kGrain = 4096;
    T* const out = context.AllocateOutput(0, dims_).template data<T>();
    if (dims_.numel() == 0) return;
    const T* const theta = context.Input(0).data<T>();
    const int count = dims_.rank() - 2;  // spatial dims
    const int64_t points = dims_.numel() / dims_[0] / count;
    ParallelFor(dims_[0] * points, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double position[3];  // x, y, z
        PositionOf(i % points, dims_, align_corners_, position);
        const T* row = theta + i / points * count * (count + 1);
        for (int r = 0; r < count; ++r, row += count + 1) {
          double sum = 0;
          for (int d = 0; d < count; ++d) {
            sum += row[d] * position[d];
          }
          out[i * count + r] = static_cast<T>(sum + row[count]);
        }
      }
    });
  }

 private:
  bool align_corners_;
  DDim dims_;
};

template <typename T>
class AffineGridGradKernel final : public OpKernel {
 public:
  explicit AffineGridGradKernel(const OpKernelConstruction& construction)
      : align_corners_(construction.Attr<bool>("align_corners")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& grad = context.Input(0);
    const DDim& dims = grad.dims();
    const int count = dims.rank() - 2;
    T* const theta = context.AllocateOutput(0, DDim{dims[0], count, count + 1})
                         .template data<T>();
    const int64_t points = dims.Product(1, count + 1);
    ParallelFor(dims[0] * count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = grad.data<T>() + row / count * points * count;
        double sums[4] = {};
        for (int64_t i = 0; i < points; ++i) {
          const double value = from[i * count + row % count];
          double position[3];
          PositionOf(i, dims, align_corners_, position);
          for (int d = 0; d < count; ++d) {
            sums[d] += value * position[d];
          }
          sums[count] += value;
        }
        std::copy_n(sums, count + 1, theta + row * (count + 1));
      }
    });
  }

 private:
  bool align_corners_;
};

}  // namespace

REGISTER_OPERATOR(affine_grid, WithGradient<kAffineGridGrad>);
REGISTER_OPERATOR(affine_grid_grad, GradientSchema<kAffineGridGrad>);
REGISTER_OP_CPU_KERNEL(affine_grid, AffineGridKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(affine_grid_grad, AffineGridGradKernel<FloatTypes>);

}  // namespace sluice
