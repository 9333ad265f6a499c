#include "sluice/operators/math/distance/manhattan_distance.h"
#include "sluice/operators/math/distance/manhattan_distance_functor.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

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
