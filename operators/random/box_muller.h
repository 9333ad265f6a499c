#pragma once

#include <bit>
#include <cstdint>

// Normal numbers with the same bits on every place. They use sums and products
// of doubles, one division, and an exact square root by the caller. A file that
// includes this must be compiled without contraction of products and sums
// (-ffp-contract=off, --fmad=false).
namespace sluice {

// Returns log x for a normal x > 0, within a few units in the last place.
constexpr double PolynomialLog(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  // x = m 2^e with m between sqrt(1/2) and sqrt(2).
  const uint64_t shifted = bits + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD);
  const auto e = static_cast<int64_t>(shifted >> 52) - 1023;
  bits = (shifted & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD;
  const auto m = std::bit_cast<double>(bits);
  // log m = 2 atanh s, computed as a series in s^2 <= 0.0295.
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  constexpr double kTerms[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                               1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  double sum = 1.0 / 21;
  for (const double term : kTerms) {
    sum = sum * z + term;
  }
  return static_cast<double>(e) * 0.6931471805599453 + 2 * s * sum;
}

struct SineCosine {
  double sine, cosine;
};

// Returns sine and cosine of the angle 2 pi turn / 2^32.
constexpr SineCosine PolynomialSineCosine(uint32_t turn) {
  const uint32_t quarter = (turn + (uint32_t{1} << 29)) >> 30;
  const auto rest = static_cast<int32_t>(turn - (quarter << 30));
  // x is between -pi/4 and pi/4.
  const double x =
      static_cast<double>(rest) * (1.5707963267948966 / 1073741824);
  const double z = x * x;
  // The ratios of consecutive terms of the Taylor series.
  constexpr double kSine[] = {1.0 / 272, 1.0 / 210, 1.0 / 156, 1.0 / 110,
                              1.0 / 72,  1.0 / 42,  1.0 / 20,  1.0 / 6};
  constexpr double kCosine[] = {1.0 / 240, 1.0 / 182, 1.0 / 132, 1.0 / 90,
                                1.0 / 56,  1.0 / 30,  1.0 / 12,  1.0 / 2};
  double sine = 1, cosine = 1;
  for (int i = 0; i < 8; ++i) {
    sine = 1 - sine * z * kSine[i];
    cosine = 1 - cosine * z * kCosine[i];
  }
  sine *= x;
  switch (quarter & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

// The factors of two independent standard normal numbers: sqrt(square) times
// cosine and sqrt(square) times sine (G. Box, M. Muller, 1958).
struct BoxMullerPair {
  double square;
  SineCosine direction;
};
constexpr BoxMullerPair BoxMuller(uint32_t word0, uint32_t word1) {
  const double uniform =
      (static_cast<double>(word0) + 0.5) * (1.0 / 4294967296);
  return {-2 * PolynomialLog(uniform), PolynomialSineCosine(word1)};
}

}  // namespace sluice
