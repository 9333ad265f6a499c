#include "sluice/operators/conversion/quantize_and_dequantize_kernel.h"

#include "sluice/operators/math/conversion/quantize_and_dequantize.h"
#include "sluice/operators/registration.h"

namespace sluice::eigen {
namespace {

// Evaluates the same expression as the CUDA kernel.
struct QuantizeExpression {
  template <typename T, typename C>
  static void Run(const T* x,
                  int64_t count,
                  const QuantizeRange<C>& range,
                  T* out) {
    using Scalar = EigenType<T>;
    QuantizeAndDequantizeOneScale<Eigen::DefaultDevice, Scalar, C>()(
        Eigen::DefaultDevice(), reinterpret_cast<const Scalar*>(x), count,
        range, reinterpret_cast<Scalar*>(out));
  }
};

// float16 and bfloat16 are converted one element at a time.
KernelWork QuantizeExpressionWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.moves = static_cast<double>(query.inputs[0].numel());
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(
    quantize_and_dequantize,
    EIGEN,
    CPUPlace,
    expression,
    KernelTraits().Estimate(&QuantizeExpressionWork),
    QuantizeAndDequantizeKernel<FloatAndHalfTypes, QuantizeExpression>);

}  // namespace sluice::eigen
