#include "sluice/operators/math/cast.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::math {

namespace {

using platform::bfloat16;
using platform::float16;

constexpr int64_t kGrain = 16384;

// float is the only type that Eigen rounds to these once and correctly. From
// wider types, rounding to float first must not decide the second rounding:
// "round to odd" keeps a bit of what it dropped.
float ToOddFloat(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

float ToOddFloat(int64_t value) {
  if (value > -(int64_t{1} << 53) && value < int64_t{1} << 53) {
    return ToOddFloat(static_cast<double>(value));
  }
  // The lowest 16 of at least 54 bits become one that says "not zero".
  const bool sticky = (value & 0xFFFF) != 0;
  const int64_t upper = (value >> 16) | (sticky ? 1 : 0);
  return ToOddFloat(static_cast<double>(upper)) * 65536.0F;
}

template <typename T>
float ToFloatForHalf(T value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
    return ToOddFloat(value);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return ToOddFloat(static_cast<double>(value));
  } else {
    return static_cast<float>(value);
  }
}

template <typename To, typename From>
To FloatToInteger(From value) {
  // 2^bits is a From; the largest To may not be.
  constexpr int kBits = std::numeric_limits<To>::digits;
  constexpr auto kEnd = static_cast<From>(uint64_t{1} << (kBits - 1)) * From{2};
  constexpr From kFirst = std::is_signed_v<To> ? -kEnd : From{0};
  if (std::isnan(value)) return 0;
  if (value >= kEnd) return std::numeric_limits<To>::max();
  if (value <= kFirst) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <typename To, typename From>
To CastOne(From value) {
  if constexpr (kIsHalf<From>) {
    return CastOne<To>(Widen(value));
  } else if constexpr (kIsHalf<To>) {
    return Narrow<To>(ToFloatForHalf(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    return FloatToInteger<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
void CastRange(const From* from, int64_t count, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(To));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = CastOne<To>(from[i]);
    }
  }
}

}  // namespace

template <typename T>
void Cast(const T* from, int64_t count, platform::DType dtype, void* out) {
  platform::VisitDType(dtype, [&]<typename To>() {
    auto* to = static_cast<To*>(out);
    platform::ParallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
      CastRange(from + begin, end - begin, to + begin);
    });
  });
}

#define SLUICE_CAST(T) template SLUICE_API decltype(Cast<T>) Cast<T>
SLUICE_CAST(float);
SLUICE_CAST(double);
SLUICE_CAST(float16);
SLUICE_CAST(bfloat16);
SLUICE_CAST(int8_t);
SLUICE_CAST(uint8_t);
SLUICE_CAST(int32_t);
SLUICE_CAST(int64_t);
SLUICE_CAST(bool);
#undef SLUICE_CAST

}  // namespace sluice::operators::math
