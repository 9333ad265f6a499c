#include "sluice/operators/math/distance/manhattan_distance.h"
#include "sluice/operators/math/distance/manhattan_distance_functor.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

DDim DistanceDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  const ShapeHandle y = context.WithRank(context.input("Y"), 2);
  context.Merge(context.Dim(x, 1), context.Dim(y, 1));
  return {context.Dim(x, 0).size, context.Dim(y, 0).size};
}

void ManhattanDistanceSchema(OpSchema& op) {
  op.Doc(
      "The distance of every row of X to every row of Y in the L1 norm: "
      "Out[i, j] is the sum over k of |X[i, k] - Y[j, k]|. Rows without "
      "elements are at distance 0.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[n, p]: n points.");
  op.Input("Y", "T", "[m, p]: m points.");
  op.Output("Out", "T", "[n, m]: the distances.");
  op.InferShape(OutShape<DistanceDims>);
  op.Sizes({{"X", "n, 64"}, {"Y", "n, 64"}});
}

constexpr GradientOp kManhattanDistanceGrad = {
    .forward = ManhattanDistanceSchema,
    .doc =
        "The gradients of manhattan_distance: X@GRAD[i, k] is the sum over j "
        "of Out@GRAD[i, j] * sign(X[i, k] - Y[j, k]), and Y@GRAD[j, k] the sum "
        "over i of the same with the other sign; sign(0) is 0.",
    .inputs = {"X", "Y"},
    .wanted = {"X", "Y"},
    .dims = DistanceDims};

template <typename DeviceContext, typename T>
class ManhattanDistanceKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    Tensor& out = context.AllocateOutput("Out", {x.dims()[0], y.dims()[0]});
    if (out.numel() == 0) return;
    ManhattanDistance<DeviceContext, T>()(
        context.device_context<DeviceContext>(), x, y, &out);
  }
};

template <typename T>
class ManhattanDistancePlainKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    const int64_t n = x.dims()[0];
    const int64_t m = y.dims()[0];
    Tensor& out = context.AllocateOutput("Out", {n, m});
    if (out.numel() == 0) return;
    ManhattanDistancePlain(x.data<T>(), y.data<T>(), out.data<T>(), n, m,
                           x.dims()[1]);
  }
};

// The arguments of a gradient kernel. An output that is not requested, or that
// is empty, is nullptr.
struct GradArguments {
  explicit GradArguments(OpKernelContext& context)
      : x(context.Input("X")),
        y(context.Input("Y")),
        out_grad(context.Input("Out@GRAD")),
        x_grad(Allocate(context, "X@GRAD", x)),
        y_grad(Allocate(context, "Y@GRAD", y)) {}

  bool nothing_to_do() const { return x_grad == nullptr && y_grad == nullptr; }

  const Tensor& x;
  const Tensor& y;
  const Tensor& out_grad;
  Tensor* x_grad;
  Tensor* y_grad;

 private:
  static Tensor* Allocate(OpKernelContext& context,
                          std::string_view name,
                          const Tensor& like) {
    if (!context.HasOutput(name)) return nullptr;
    Tensor& grad = context.AllocateOutput(name, like.dims());
    return grad.numel() == 0 ? nullptr : &grad;
  }
};

template <typename DeviceContext, typename T>
class ManhattanDistanceGradKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const GradArguments args(context);
    if (args.nothing_to_do()) return;
    ManhattanDistanceGrad<DeviceContext, T>()(
        context.device_context<DeviceContext>(), args.x, args.y, args.out_grad,
        args.x_grad, args.y_grad);
  }
};

template <typename T>
class ManhattanDistanceGradPlainKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const GradArguments args(context);
    if (args.nothing_to_do()) return;
    ManhattanDistanceGradPlain(
        args.x.data<T>(), args.y.data<T>(), args.out_grad.data<T>(),
        args.x_grad != nullptr ? args.x_grad->data<T>() : nullptr,
        args.y_grad != nullptr ? args.y_grad->data<T>() : nullptr,
        args.x.dims()[0], args.y.dims()[0], args.x.dims()[1]);
  }
};

// Each term needs a difference, an absolute value and a sum. `vectors` says
// whether vectors of neighbouring results are computed, or single results.
KernelWork Work(const KernelQuery& query, bool vectors) {
  const DDim& x = query.inputs[0];
  const DDim& y = query.inputs[1];
  KernelWork work = DefaultKernelWork(query);
  const auto rows = static_cast<double>(x[0]);
  const auto terms = static_cast<double>(x[1]);
  const size_t element = SizeOf(query.input_dtypes[0]);
  if (vectors) {
    work.flops = 3 * rows * terms * Padded(y[0], VectorLanes(element));
  } else {
    work.moves = rows * terms * static_cast<double>(y[0]);
  }
  return work;
}

KernelWork GradWork(const KernelQuery& query) {
  return Work(query, true);
}
KernelWork BlockedWork(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const int64_t points = query.inputs[1][0];
  const int64_t lanes = VectorLanes(SizeOf(query.input_dtypes[0]));
  KernelWork work = Work(query, true);
  if (FewPoints(x[0], points, x[1], lanes)) {
    work.dots = static_cast<double>(query.outputs[0].numel());
    work.flops = 3 * work.dots * static_cast<double>(x[1]);
  }
  return work;
}
KernelWork PlainWork(const KernelQuery& query) {
  return Work(query, false);
}

}  // namespace

REGISTER_OPERATOR(manhattan_distance, WithGradient<kManhattanDistanceGrad>);
REGISTER_OPERATOR(manhattan_distance_grad,
                  GradientSchema<kManhattanDistanceGrad>);
REGISTER_OP_KERNEL(manhattan_distance,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&BlockedWork),
                   ManhattanDistanceKernel<CPUDeviceContext, FloatTypes>);
REGISTER_OP_CPU_KERNEL(manhattan_distance,
                       EstimatedBy<&PlainWork>,
                       ManhattanDistancePlainKernel<FloatTypes>);

REGISTER_OP_KERNEL(manhattan_distance_grad,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&GradWork),
                   ManhattanDistanceGradKernel<CPUDeviceContext, FloatTypes>);
REGISTER_OP_CPU_KERNEL(manhattan_distance_grad,
                       EstimatedBy<&PlainWork>,
                       ManhattanDistanceGradPlainKernel<FloatTypes>);

}  // namespace sluice
