#include <cstdint>
#include <type_traits>
#include <vector>

#include "sluice/framework/op/op_registry.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::OpKernelContext;
using framework::Tensor;

// The same for all dtypes of one size: a number is zero where all its bits are,
// but for the sign of a floating one.
template <typename Bits>
void FindNonzero(OpKernelContext& context, Bits mask) {
  const Tensor& x = context.Input(0);
  const auto* values = static_cast<const Bits*>(x.raw_data());
  const int64_t size = x.numel();
  int64_t count = 0;
  for (int64_t i = 0; i < size; ++i) {
    count += (values[i] & mask) != 0;
  }
  const int rank = x.dims().rank();
  auto* out = context.AllocateOutput(0, DDim({rank, count})).data<int64_t>();
  std::vector<int64_t> index(static_cast<size_t>(rank));
  int64_t column = 0;
  for (int64_t i = 0; i < size && column < count; ++i) {
    if ((values[i] & mask) != 0) {
      for (int axis = 0; axis < rank; ++axis) {
        out[axis * count + column] = index[static_cast<size_t>(axis)];
      }
      ++column;
    }
    for (int axis = rank; axis-- > 0;) {
      int64_t& at = index[static_cast<size_t>(axis)];
      if (++at < x.dims()[axis]) break;
      at = 0;
    }
  }
}

template <typename T>
class NonzeroKernel final : public framework::OpKernel {
 public:
  explicit NonzeroKernel(
      const framework::OpKernelConstruction& /*construction*/) {}

  void Compute(OpKernelContext& context) const override {
    using Bits = std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<
            sizeof(T) == 2, uint16_t,
            std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
    const auto all = static_cast<Bits>(~Bits{0});
    const bool has_sign = platform::IsFloating(platform::kDTypeOf<T>);
    FindNonzero<Bits>(context, static_cast<Bits>(has_sign ? all >> 1 : all));
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(nonzero,
                       NonzeroKernel<float>,
                       NonzeroKernel<double>,
                       NonzeroKernel<platform::float16>,
                       NonzeroKernel<platform::bfloat16>,
                       NonzeroKernel<int8_t>,
                       NonzeroKernel<uint8_t>,
                       NonzeroKernel<int32_t>,
                       NonzeroKernel<int64_t>,
                       NonzeroKernel<bool>);

}  // namespace sluice::operators
