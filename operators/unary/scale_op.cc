#include <type_traits>

#include "sluice/operators/holds_number.h"
#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void ScaleShape(InferShapeContext& context) {
  const DType dtype = context.input_dtype("X");
  if (!IsFloating(dtype)) {
    for (const char* name : {"scale", "bias"}) {
      const double value = context.Attr<double>(name);
      context.Require(HoldsNumber(dtype, value), "scale.whole_number",
                      "attribute {} is {}, expected a number that {} holds",
                      name, value, dtype);
    }
  }
  context.SetOutput("Out", context.input("X"));
}

std::vector<OpDesc> ScaleGradient(const OpDesc& forward) {
  const Attribute& scale = forward.attributes.find("scale")->second;
  return {GradientThrough(forward, forward.Input("X")[0], "scale",
                          {{"scale", scale}})};
}

void ScaleSchema(OpSchema& op) {
  op.Doc(
      "Out = scale * X + bias, or scale * (X + bias). float16 and bfloat16 are "
      "computed in float32 and rounded once; integers take whole numbers only "
      "and wrap around.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  op.Attr<double>("scale", "The factor.").Default(1.0);
  op.Attr<double>("bias", "The summand.").Default(0.0);
  op.Attr<bool>("bias_after_scale",
                "Whether the bias is added after the product, or to X.")
      .Default(true);
  op.InferShape(ScaleShape).Elementwise().Gradient(ScaleGradient);
}

// The type in which a T is computed: float, T itself or, for integers, modulo
// 2^64; the lower bits are kept.
template <typename T>
struct Arithmetic {
  using Type = std::conditional_t<std::is_integral_v<T>, uint64_t, Computed<T>>;
  static Type FromDouble(double value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<uint64_t>(static_cast<int64_t>(value));
    } else {
      return static_cast<Type>(value);
    }
  }
  static Type Load(T value) { return static_cast<Type>(Widen(value)); }
  static T Store(Type value) {
    return Narrow<T>(static_cast<Computed<T>>(value));
  }
};

template <typename T>
class ScaleKernel final : public OpKernel {
 public:
  using A = Arithmetic<T>;

  explicit ScaleKernel(const OpKernelConstruction& construction)
      : scale_(A::FromDouble(construction.Attr<double>("scale"))),
        bias_(A::FromDouble(construction.Attr<double>("bias"))),
        bias_after_(construction.Attr<bool>("bias_after_scale")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    ParallelFor(out.numel(), kGrain,
                [this, from, to](int64_t begin, int64_t end) {
                  ScaleRange(from + begin, end - begin, to + begin);
                });
  }

 private:
  void ScaleRange(const T* from, int64_t count, T* to) const {
    const auto scale = scale_;
    const auto bias = bias_;
    if constexpr (std::is_floating_point_v<T>) {
      if (bias_after_) {
        return ScaleContiguous(from, scale, bias, count, to);
      }
    }
    if (bias_after_) {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = A::Store(A::Load(from[i]) * scale + bias);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = A::Store((A::Load(from[i]) + bias) * scale);
      }
    }
  }

  typename A::Type scale_;
  typename A::Type bias_;
  bool bias_after_;
};

}  // namespace

REGISTER_OPERATOR(scale, ScaleSchema);
REGISTER_OP_CPU_KERNEL(scale,
                       ScaleKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>>);

}  // namespace sluice
