#include "sluice/operators/conversion/quantize_and_dequantize_kernel.h"
#include "sluice/operators/math/conversion/quantize_range.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void QuantizeAndDequantizeShape(InferShapeContext& context) {
  if (context.Attr<bool>("range_given")) {
    const auto min = context.Attr<double>("min");
    const auto max = context.Attr<double>("max");
    const auto num_bits = context.Attr<int64_t>("num_bits");
    const DType dtype = context.input_dtype("X");
    const bool valid =
        dtype == DType::kFloat64
            ? QuantizeRange<double>::Make(min, max, num_bits).valid()
            : QuantizeRange<float>::Make(min, max, num_bits).valid();
    context.Require(valid, "quantize_and_dequantize.range",
                    "attributes min = {} and max = {}: expected finite numbers "
                    "with min < max, also as {} with num_bits = {}",
                    min, max, dtype, num_bits);
  }
  context.SetOutput("Out", context.input("X"));
}

void QuantizeAndDequantizeSchema(OpSchema& op) {
  op.Doc(
      "What is left of X after it was stored in num_bits bits: "
      "round((clip(X, min, max) - min) * scale) / scale + min with scale = "
      "(2^num_bits - 1) / (max - min), at most max. Halves are rounded up. "
      "float16 and bfloat16 are computed in float32. NaN stays NaN.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16});
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  op.Attr<int64_t>("num_bits", "Bits to store an element in.")
      .Default(int64_t{8})
      .AtLeast(1)
      .AtMost(24);
  op.Attr<bool>("range_given",
                "Whether min and max are the range, or the least and the "
                "greatest element of X, which then must differ.")
      .Default(true);
  op.Attr<double>("min", "The least value that is stored.").Default(0.0);
  op.Attr<double>("max", "The greatest one; it has to be given with min.")
      .Default(0.0);
  op.InferShape(QuantizeAndDequantizeShape);
  op.NoGradient(
      "it is constant between its steps; to train through it as if Out were X, "
      "use X + (Out - X), with stop_gradient of Out and of the difference");
}

// Evaluates the op's formula element by element.
struct QuantizeElements {
  template <typename T, typename C>
  static void Run(const T* x,
                  int64_t count,
                  const QuantizeRange<C>& range,
                  T* out) {
    for (int64_t i = 0; i < count; ++i) {
      const C value = Widen(x[i]);
      if (std::isnan(value)) {
        out[i] = x[i];
        continue;
      }
      const C level =
          (std::clamp(value, range.min, range.max) - range.min) * range.scale;
      // Adding 0.5 would round, from 2^22 on or just below 0.5.
      const C whole = std::floor(level);
      const C nearest = whole + (level - whole >= C(0.5) ? C(1) : C(0));
      out[i] =
          Narrow<T>(std::min(nearest / range.scale + range.min, range.max));
    }
  }
};

KernelWork QuantizeElementsWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.moves = static_cast<double>(query.inputs[0].numel());
  return work;
}

}  // namespace

REGISTER_OPERATOR(quantize_and_dequantize, QuantizeAndDequantizeSchema);
REGISTER_OP_CPU_KERNEL(
    quantize_and_dequantize,
    EstimatedBy<&QuantizeElementsWork>,
    QuantizeAndDequantizeKernel<FloatAndHalfTypes, QuantizeElements>);

}  // namespace sluice
