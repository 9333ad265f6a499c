#include "sluice/operators/conversion/quantize_and_dequantize_kernel.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/conversion/quantize_and_dequantize.h"

namespace sluice::operators::eigen {
namespace {

using framework::KernelQuery;
using framework::KernelTraits;
using framework::KernelWork;

// Evaluates the same expression as the CUDA kernel.
template <typename T>
struct QuantizeExpression {
  using C = math::Computed<T>;
  using Scalar = math::EigenType<T>;

  static void Run(const T* x,
                  int64_t count,
                  const math::QuantizeRange<C>& range,
                  T* out) {
    math::QuantizeAndDequantizeOneScale<Eigen::DefaultDevice, Scalar, C>()(
        Eigen::DefaultDevice(), reinterpret_cast<const Scalar*>(x), count,
        range, reinterpret_cast<Scalar*>(out));
  }
};

template <typename T>
using EigenQuantize = QuantizeAndDequantizeKernel<T, QuantizeExpression<T>>;

// float16 and bfloat16 are converted one element at a time.
KernelWork QuantizeExpressionWork(const KernelQuery& query) {
  KernelWork work = framework::DefaultKernelWork(query);
  const size_t element = platform::SizeOf(query.input_dtypes[0]);
  const double each = element == sizeof(float) ? 10 : element > 4 ? 23 : 50;
  work.moves = each * static_cast<double>(query.inputs[0].numel());
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(quantize_and_dequantize,
                   EIGEN,
                   CPUPlace,
                   expression,
                   KernelTraits().Estimate(&QuantizeExpressionWork),
                   EigenQuantize<float>,
                   EigenQuantize<double>,
                   EigenQuantize<platform::float16>,
                   EigenQuantize<platform::bfloat16>);

}  // namespace sluice::operators::eigen
