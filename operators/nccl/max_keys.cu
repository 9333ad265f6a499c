#include "sluice/operators/nccl/max_keys.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::nccl {
namespace {

// The bits of positive IEEE 754 numbers are in order; those of negative ones
// are in reverse order. A NaN has all bits of the exponent and some below set.
// Its key is that of the positive NaN with all bits set.
template <typename Bits, Bits kInfinity>
struct Order {
  static constexpr Bits kLargest = static_cast<Bits>(
      ~(Bits{1} << (sizeof(Bits) * 8 - 1)));  // all bits but the sign

  __device__ static Bits Key(Bits bits) {
    const Bits magnitude = bits & kLargest;
    if (magnitude > kInfinity) return kLargest;
    return bits < 0 ? bits ^ kLargest : bits;
  }
  __device__ static Bits Number(Bits key) {
    return key < 0 ? key ^ kLargest : key;
  }
};

using Order32 = Order<int32_t, 0x7f800000>;
using Order64 = Order<int64_t, 0x7ff0000000000000>;

template <typename Bits, typename OrderOfBits>
void ToKeysOf(const CUDADeviceContext& context,
              const void* from,
              void* to,
              int64_t count) {
  const auto* in = static_cast<const Bits*>(from);
  auto* out = static_cast<Bits*>(to);
  ForEach(context, count,
          [=] __device__(int64_t i) { out[i] = OrderOfBits::Key(in[i]); });
}

template <typename Bits, typename OrderOfBits>
void FromKeysOf(const CUDADeviceContext& context, void* keys, int64_t count) {
  auto* out = static_cast<Bits*>(keys);
  ForEach(context, count,
          [=] __device__(int64_t i) { out[i] = OrderOfBits::Number(out[i]); });
}

}  // namespace

void ToKeys(const CUDADeviceContext& context,
            DType dtype,
            const void* from,
            void* to,
            int64_t count) {
  return dtype == DType::kFloat32
             ? ToKeysOf<int32_t, Order32>(context, from, to, count)
             : ToKeysOf<int64_t, Order64>(context, from, to, count);
}

void FromKeys(const CUDADeviceContext& context,
              DType dtype,
              void* numbers,
              int64_t count) {
  return dtype == DType::kFloat32
             ? FromKeysOf<int32_t, Order32>(context, numbers, count)
             : FromKeysOf<int64_t, Order64>(context, numbers, count);
}

}  // namespace sluice::nccl
