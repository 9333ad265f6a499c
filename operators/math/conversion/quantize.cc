#include "sluice/operators/math/conversion/quantize.h"

#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStep = kLanes<float>;

// The scales and zeros of the elements from i on, of which `left` are there.
struct ScaleLanes {
  V<float> scale;
  V<int32_t> zero;

  HWY_INLINE explicit ScaleLanes(const QuantizeScales& all)
      : scale(hn::Set(Tag<float>(), all.scale[0])),
        zero(hn::Set(Tag<int32_t>(), all.zero[0])) {}
  HWY_INLINE ScaleLanes(const QuantizeScales& all, int64_t i, int64_t left)
      : scale(LoadPart(all.scale + i, left, 1.0F)),
        zero(LoadPart(all.zero + i, left, int32_t{0})) {}
};

// Added to a smaller number, it leaves no bits for a fraction, which rounds to
// even. Then the bits are those of this number, plus the whole number.
constexpr float kWhole = 12582912;  // 1.5 * 2^23

// Returns the bits of the integers: their signed and unsigned type have the
// same.
template <typename Q>
HWY_INLINE auto QuantizeVector(V<float> x, ScaleLanes by) {
  const Tag<float> d;
  const Tag<int32_t> di;
  // Both limits are whole numbers, so that it does not matter whether the
  // quotient is rounded before or after.
  const auto limit = [&](Q end) HWY_ATTR {
    return hn::ConvertTo(d, hn::Sub(hn::Set(di, int32_t{end}), by.zero));
  };
  const V<float> whole = hn::Set(d, kWhole);
  const V<float> quotient = hn::Div(x, by.scale);
  const V<float> number =
      hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);
  const V<float> within =
      hn::Min(hn::Max(number, limit(std::numeric_limits<Q>::min())),
              limit(std::numeric_limits<Q>::max()));
  const auto offset = hn::Sub(by.zero, hn::BitCast(di, whole));
  const auto bits = hn::Add(hn::BitCast(di, hn::Add(within, whole)), offset);
  return hn::TruncateTo(
      hn::Rebind<hwy::MakeUnsigned<Q>, Tag<float>>(),
      hn::BitCast(hn::RebindToUnsigned<Tag<int32_t>>(), bits));
}

template <bool kSingle, typename Q>
HWY_INLINE void QuantizeAll(const float* x,
                            const QuantizeScales& scales,
                            int64_t count,
                            Q* integers) {
  using Bits = hwy::MakeUnsigned<Q>;
  const hn::Rebind<Bits, Tag<float>> dq;
  auto* out = reinterpret_cast<Bits*>(integers);
  ScaleLanes by(scales);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    if constexpr (!kSingle) by = ScaleLanes(scales, i, kStep);
    hn::StoreU(QuantizeVector<Q>(hn::LoadU(Tag<float>(), x + i), by), dq,
               out + i);
  }
  if (i == count) return;
  if constexpr (!kSingle) by = ScaleLanes(scales, i, count - i);
  HWY_ALIGN Bits last[kStep];
  hn::Store(QuantizeVector<Q>(LoadPart(x + i, count - i, 0.0F), by), dq, last);
  for (int64_t j = 0; i + j < count; ++j) {
    out[i + j] = last[j];
  }
}

template <typename Q>
HWY_INLINE void Quantize(const float* x,
                         const QuantizeScales& scales,
                         int64_t count,
                         Q* out) {
  // Limits of one scale are computed before the loop.
  scales.single ? QuantizeAll<true>(x, scales, count, out)
                : QuantizeAll<false>(x, scales, count, out);
}

template <typename Q>
HWY_INLINE void Dequantize(const Q* x,
                           const QuantizeScales& scales,
                           int64_t count,
                           float* out) {
  const hn::Rebind<Q, Tag<float>> dq;
  ScaleLanes by(scales);
  for (int64_t i = 0; i < count; i += kStep) {
    const int64_t left = count - i;
    HWY_ALIGN Q last[kStep] = {};
    const Q* from = x + i;
    if (left < kStep) {
      for (int64_t j = 0; j < left; ++j) {
        last[j] = from[j];
      }
      from = last;
    }
    if (!scales.single) by = ScaleLanes(scales, i, left);
    const auto whole = hn::PromoteTo(Tag<int32_t>(), hn::LoadU(dq, from));
    const auto number = hn::ConvertTo(Tag<float>(), hn::Sub(whole, by.zero));
    StorePart<float>(hn::Mul(number, by.scale), out + i, left);
  }
}

void QuantizeTo(const float* x,
                const QuantizeScales& scales,
                int64_t count,
                DType dtype,
                void* out) {
  if (dtype == DType::kInt8) {
    Quantize(x, scales, count, static_cast<int8_t*>(out));
  } else if (dtype == DType::kUInt8) {
    Quantize(x, scales, count, static_cast<uint8_t*>(out));
  } else if (dtype == DType::kInt16) {
    Quantize(x, scales, count, static_cast<int16_t*>(out));
  } else {
    Quantize(x, scales, count, static_cast<uint16_t*>(out));
  }
}

void DequantizeFrom(DType dtype,
                    const void* x,
                    const QuantizeScales& scales,
                    int64_t count,
                    float* out) {
  if (dtype == DType::kInt8) {
    Dequantize(static_cast<const int8_t*>(x), scales, count, out);
  } else if (dtype == DType::kUInt8) {
    Dequantize(static_cast<const uint8_t*>(x), scales, count, out);
  } else if (dtype == DType::kInt16) {
    Dequantize(static_cast<const int16_t*>(x), scales, count, out);
  } else {
    Dequantize(static_cast<const uint16_t*>(x), scales, count, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(QuantizeTo);
HWY_EXPORT(DequantizeFrom);
}  // namespace

void QuantizeInLanes(const float* x,
                     QuantizeScales scales,
                     int64_t count,
                     DType dtype,
                     void* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeTo)(x, scales, count, dtype, out);
}

void DequantizeInLanes(DType dtype,
                       const void* x,
                       QuantizeScales scales,
                       int64_t count,
                       float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeFrom)(dtype, x, scales, count, out);
}

}  // namespace sluice
#endif  // HWY_ONCE
