#include <limits>
#include <utility>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/clip_bounds.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void CheckBounds(const InferShapeContext& context) {
  const auto min = context.Attr<double>("min");
  const auto max = context.Attr<double>("max");
  // The condition also rejects NaN.
  context.Require(min <= max, "clip.bounds",
                  "attribute min must not be above max, got {} and {}", min,
                  max);
}

void ClipShape(InferShapeContext& context) {
  CheckBounds(context);
  context.SetOutput("Out", context.input("X"));
}

void ClipGradShape(InferShapeContext& context) {
  CheckBounds(context);
  context.SetOutput(
      "X@GRAD", context.Merge(context.input("X"), context.input("Out@GRAD")));
}

void ClipSchema(OpSchema& op);

constexpr GradientOp kClipGrad = {
    .forward = ClipSchema,
    .doc = "The gradient of clip: X@GRAD = Out@GRAD, 0 where X was changed.",
    .inputs = {"X"},
    .shape = ClipGradShape,
    .add = [](OpSchema& op) { op.Elementwise(); }};

// A bound that is an input gets the gradients of the elements that it replaced,
// as if Out were elementwise_max of X and Min, or elementwise_min of X and Max.
std::vector<OpDesc> ClipGradient(const OpDesc& forward) {
  std::vector<OpDesc> grads = {MakeGradient(forward, kClipGrad)};
  for (const auto& [bound, type] : {std::pair("Min", "elementwise_max_grad"),
                                    std::pair("Max", "elementwise_min_grad")}) {
    if (forward.Input(bound).empty()) continue;
    OpDesc& grad = grads.emplace_back(
        MakeGradOp(forward, type, {.inputs = {"X"}, .output_grads = {"Out"}}));
    grad.inputs.emplace_back("Y", forward.Input(bound));
    grad.outputs = {{"Y@GRAD", {GradName(forward.Input(bound)[0])}}};
    grad.attributes.clear();
  }
  return grads;
}

void ClipSchema(OpSchema& op) {
  op.Doc(
      "Out = X, but min where it is smaller and max where it is larger, "
      "element by element; NaN stays NaN. Of integers the bounds are rounded "
      "to those between them, and are within the range of the dtype.");
  op.TypeVar("T", NumericDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  op.Attr<double>("min", "The smallest value of Out.").Default(-kInfinity);
  op.Attr<double>("max", "The largest one.").Default(kInfinity);
  op.Operand("Min", "min", "T", "Attribute min as a tensor of one element.");
  op.Operand("Max", "max", "T", "Attribute max as a tensor of one element.");
  op.InferShape(ClipShape).InferLateShape(SameShape);
  op.Elementwise().Gradient(ClipGradient);
  op.Onnx({"Clip", {}}).Torch("torch.clamp(X, min, max)");
}

template <typename T>
class ClipKernel final : public OpKernel {
 public:
  explicit ClipKernel(const OpKernelConstruction& construction)
      : bounds_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    ParallelFor(out.numel(), kGrain,
                [from, to, bounds = bounds_](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const auto value = Widen(from[i]);
                    // Both comparisons are false for NaN, which is kept.
                    const auto above = value < bounds.min ? bounds.min : value;
                    to[i] = Narrow<T>(above > bounds.max ? bounds.max : above);
                  }
                });
  }

 private:
  ClipBounds<Computed<T>> bounds_;
};

template <typename T>
class ClipGradKernel final : public OpKernel {
 public:
  explicit ClipGradKernel(const OpKernelConstruction& construction)
      : bounds_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& x_grad = context.AllocateOutput("X@GRAD", x.dims());
    if (x_grad.numel() == 0) return;
    const T* from = x.data<T>();
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* to = x_grad.data<T>();
    ParallelFor(x_grad.numel(), kGrain,
                [from, grad, to, bounds = bounds_](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const auto value = Widen(from[i]);
                    const bool cut = value < bounds.min || value > bounds.max;
                    to[i] = cut ? T{} : grad[i];
                  }
                });
  }

 private:
  ClipBounds<Computed<T>> bounds_;
};

}  // namespace

REGISTER_OPERATOR(clip, ClipSchema);
REGISTER_OPERATOR(clip_grad, GradientSchema<kClipGrad>);
REGISTER_OP_CPU_KERNEL(clip, ClipKernel<NumberTypes>);
REGISTER_OP_CPU_KERNEL(clip_grad, ClipGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
