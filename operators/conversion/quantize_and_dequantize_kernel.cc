#include "sluice/operators/conversion/quantize_and_dequantize_kernel.h"

#include "sluice/framework/op/op_registry.h"

namespace sluice::operators {
namespace {

using framework::KernelQuery;
using framework::KernelTraits;
using framework::KernelWork;

// Evaluates the op's formula element by element.
template <typename T>
struct QuantizeElements {
  using C = math::Computed<T>;

  static void Run(const T* x,
                  int64_t count,
                  const math::QuantizeRange<C>& range,
                  T* out) {
    for (int64_t i = 0; i < count; ++i) {
      const C value = math::Widen(x[i]);
      if (std::isnan(value)) {
        out[i] = x[i];
        continue;
      }
      const C level =
          (std::clamp(value, range.min, range.max) - range.min) * range.scale;
      // Adding 0.5 would round, from 2^22 on or just below 0.5.
      const C whole = std::floor(level);
      const C nearest = whole + (level - whole >= C(0.5) ? C(1) : C(0));
      out[i] = math::Narrow<T>(
          std::min(nearest / range.scale + range.min, range.max));
    }
  }
};

KernelWork QuantizeElementsWork(const KernelQuery& query) {
  KernelWork work = framework::DefaultKernelWork(query);
  const bool half = platform::SizeOf(query.input_dtypes[0]) < sizeof(float);
  work.moves = (half ? 24 : 15) * static_cast<double>(query.inputs[0].numel());
  return work;
}

template <typename T>
using PlainQuantize = QuantizeAndDequantizeKernel<T, QuantizeElements<T>>;

}  // namespace

REGISTER_OP_KERNEL(quantize_and_dequantize,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&QuantizeElementsWork),
                   PlainQuantize<float>,
                   PlainQuantize<double>,
                   PlainQuantize<platform::float16>,
                   PlainQuantize<platform::bfloat16>);

}  // namespace sluice::operators
