#include "sluice/operators/math/cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sluice/operators/math/conversion/half_loops.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kCastGrain = 16384;

// Eigen rounds to these types correctly, in one step, from float only. For
// wider types the rounding to float must not affect the second rounding: "round
// to odd" keeps one bit of what it drops.
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
  // Of at least 54 bits, the lowest 16 are replaced by a bit for "not zero".
  const bool sticky = (value & 0xFFFF) != 0;
  const int64_t upper = (value >> 16) | (sticky ? 1 : 0);
  return ToOddFloat(static_cast<double>(upper)) * 65536.0F;
}

float ToOddFloat(uint64_t value) {
  const auto half = static_cast<int64_t>(value >> 1 | (value & 1));
  return value <= INT64_MAX ? ToOddFloat(static_cast<int64_t>(value))
                            : ToOddFloat(half) * 2.0F;
}

template <typename T>
float ToFloatForHalf(T value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t> ||
                std::is_same_v<T, uint64_t>) {
    return ToOddFloat(value);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return ToOddFloat(static_cast<double>(value));
  } else {
    return static_cast<float>(value);
  }
}

template <typename To, typename From>
To FloatToInteger(From value) {
  // A From can represent 2^bits, but possibly not the largest To.
  constexpr int kBits = std::numeric_limits<To>::digits;
  constexpr auto kEnd = static_cast<From>(uint64_t{1} << (kBits - 1)) * From{2};
  constexpr From kFirst = std::is_signed_v<To> ? -kEnd : From{0};
  if constexpr (sizeof(To) ==
                sizeof(int64_t)) {  // no vector has the conversion
    if (std::isnan(value)) return 0;
    if (value >= kEnd) return std::numeric_limits<To>::max();
    if (value <= kFirst) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  }
  // Without branches, so that the loop is vectorized; of NaN this is 0.
  const bool inside = value > kFirst && value < kEnd;
  const auto found = static_cast<To>(inside ? value : From{0});
  const To above = value >= kEnd ? std::numeric_limits<To>::max() : found;
  return value <= kFirst ? std::numeric_limits<To>::min() : above;
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
  } else if constexpr (std::is_same_v<From, float> &&
                       std::is_same_v<To, float16>) {
    NarrowToHalves(from, count, to);
  } else if constexpr (std::is_same_v<From, float16> &&
                       std::is_same_v<To, float>) {
    WidenHalves(from, count, to);
  } else if constexpr (std::is_same_v<From, bool>) {  // vectorized as bytes
    CastRange(reinterpret_cast<const uint8_t*>(from), count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = CastOne<To>(from[i]);
    }
  }
}

// Whether T has direct conversions to all other such types. The rest convert
// through double, int64 or uint64, which represent all their values.
template <typename T>
inline constexpr bool kDirect = kDTypeOf<T> <= DType::kBool;

constexpr int64_t kBlock = 256;

template <typename T>
inline constexpr bool kIsInteger =
    std::is_integral_v<T> || kDTypeOf<T> >= DType::kInt4;

// The type that elements of T are loaded as.
template <typename T>
using Loaded =
    std::conditional_t<std::is_same_v<T, uint64_t>,
                       uint64_t,
                       std::conditional_t<kIsInteger<T>, int64_t, double>>;

template <typename From>
void EncodeRange(const From* from,
                 int64_t count,
                 DType dtype,
                 Narrowing narrowing,
                 uint8_t* to) {
  const NumberFormat& format = FormatOf(dtype);
  if (!format.is_float()) {
    const auto mask = static_cast<uint8_t>((1U << format.bits) - 1);
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<uint8_t>(CastOne<int64_t>(from[i]) & mask);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    double value = 0;
    if constexpr (std::is_same_v<From, double>) {
      value = from[i];
    } else {
      // Rounding to odd keeps the value between the same two codes.
      value = ToOddFloat(from[i]);
    }
    to[i] = Encode(format, value, narrowing);
  }
}

template <typename From>
void StoreRange(const From* from,
                int64_t count,
                DType dtype,
                Narrowing narrowing,
                void* out) {
  VisitDType(dtype, [&]<typename To>() {
    if constexpr (IsStoredNumber(kDTypeOf<To>)) {
      EncodeRange(from, count, dtype, narrowing, static_cast<uint8_t*>(out));
    } else {
      CastRange(from, count, static_cast<To*>(out));
    }
  });
}

// Converts a range on one thread, in blocks that are loaded first.
template <typename From>
void CastByBlocks(const From* from,
                  int64_t count,
                  DType dtype,
                  Narrowing narrowing,
                  char* out) {
  Loaded<From> block[kBlock];
  const auto size = static_cast<int64_t>(SizeOf(dtype));
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t part = std::min(kBlock, count - at);
    if constexpr (IsStoredNumber(kDTypeOf<From>)) {
      const auto values = StoredValues(kDTypeOf<From>);
      for (int64_t i = 0; i < part; ++i) {
        block[i] = static_cast<Loaded<From>>(values[from[at + i].bits]);
      }
    } else {
      CastRange(from + at, part, block);
    }
    StoreRange(block, part, dtype, narrowing, out + at * size);
  }
}

template <typename From>
void CastFrom(const From* from,
              int64_t count,
              DType dtype,
              Narrowing narrowing,
              void* out) {
  if constexpr (kDirect<From>) {
    const bool done = VisitDType(dtype, [&]<typename To>() {
      if constexpr (kDirect<To>) {
        CastRange(from, count, static_cast<To*>(out));
      }
      return kDirect<To>;
    });
    if (done) return;
  }
  CastByBlocks(from, count, dtype, narrowing, static_cast<char*>(out));
}

}  // namespace

void Cast(DType from_dtype,
          const void* from,
          int64_t count,
          DType dtype,
          void* out,
          Narrowing narrowing) {
  const size_t from_size = SizeOf(from_dtype);
  const size_t size = SizeOf(dtype);
  const auto* first = static_cast<const char*>(from);
  auto* to = static_cast<char*>(out);
  ParallelFor(count, kCastGrain, [=](int64_t begin, int64_t end) {
    const char* part = first + static_cast<size_t>(begin) * from_size;
    char* result = to + static_cast<size_t>(begin) * size;
    if (from_dtype == dtype) {
      std::memcpy(result, part, static_cast<size_t>(end - begin) * size);
      return;
    }
    VisitDType(from_dtype, [&]<typename From>() {
      CastFrom(reinterpret_cast<const From*>(part), end - begin, dtype,
               narrowing, result);
    });
  });
}

}  // namespace sluice
