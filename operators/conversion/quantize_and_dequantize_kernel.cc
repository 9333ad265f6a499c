#include "sluice/operators/conversion/quantize_and_dequantize_kernel.h"

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

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

REGISTER_OP_CPU_KERNEL(
    quantize_and_dequantize,
    EstimatedBy<&QuantizeElementsWork>,
    QuantizeAndDequantizeKernel<FloatAndHalfTypes, QuantizeElements>);

}  // namespace sluice
