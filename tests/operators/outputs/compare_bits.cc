#include "tests/operators/outputs/compare_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/operators/harness/op_case.h"

#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

// The bits of element `index`, in the low ones.
uint64_t BitsAt(const Tensor& tensor, int64_t index) {
  const size_t size = SizeOf(tensor.dtype());
  uint64_t bits = 0;
  std::memcpy(&bits,
              static_cast<const char*>(tensor.raw_data()) +
                  static_cast<size_t>(index) * size,
              size);
  return bits;
}

// The rank of a float among all floats of its size, from its sign and
// magnitude. Neighbours differ by 1; -0 and 0 are equal.
int64_t PlaceOf(uint64_t bits, size_t size) {
  const auto sign = uint64_t{1} << (8 * size - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

int64_t Distance(int64_t a, int64_t b) {
  int64_t distance = 0;
  if (__builtin_sub_overflow(std::max(a, b), std::min(a, b), &distance)) {
    return std::numeric_limits<int64_t>::max();
  }
  return distance;
}

}  // namespace

void BitDifference::Add(const BitDifference& other) {
  elements += other.elements;
  differing_elements += other.differing_elements;
  differing_bits += other.differing_bits;
  most_ulps = std::max(most_ulps, other.most_ulps);
  most_relative = std::max(most_relative, other.most_relative);
}

BitDifference CompareBits(const Tensor& a, const Tensor& b) {
  SLUICE_ENFORCE(a.dims() == b.dims() && a.dtype() == b.dtype(),
                 ErrorCode::kInvalidArgument, "compare_bits.type",
                 "expected two tensors of one shape and dtype, got {} and {}",
                 a, b);
  const size_t size = SizeOf(a.dtype());
  const bool floating = IsFloating(a.dtype());
  const Array first = ToArray(a);
  const Array second = ToArray(b);
  BitDifference found;
  found.elements = a.numel();
  for (int64_t i = 0; i < a.numel(); ++i) {
    const uint64_t x = BitsAt(a, i);
    const uint64_t y = BitsAt(b, i);
    if (x == y) continue;
    const double p = first.values[static_cast<size_t>(i)];
    const double q = second.values[static_cast<size_t>(i)];
    const bool nan = std::isnan(p) || std::isnan(q);
    if (std::isnan(p) && std::isnan(q)) continue;
    ++found.differing_elements;
    found.differing_bits += std::popcount(x ^ y);
    if (nan) {
      found.most_ulps = std::numeric_limits<int64_t>::max();
      found.most_relative = std::numeric_limits<double>::infinity();
      continue;
    }
    if (floating) {
      found.most_ulps = std::max(found.most_ulps,
                                 Distance(PlaceOf(x, size), PlaceOf(y, size)));
    }
    if (p == q) {
      // Zeros of both signs, or integers that double cannot represent.
      if (!floating) found.most_relative = std::max(found.most_relative, 1e-18);
    } else if (std::isinf(p) || std::isinf(q)) {
      found.most_relative = std::numeric_limits<double>::infinity();
    } else {
      found.most_relative = std::max(
          found.most_relative, std::abs(p - q) / std::max(1.0, std::abs(q)));
    }
  }
  return found;
}

}  // namespace sluice::testing
