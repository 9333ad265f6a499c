// The transforms of conv2d_winograd.h along one dimension. Included once for
// every instruction set.
#if defined(SLUICE_OPERATORS_MATH_CONV_WINOGRAD_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_OPERATORS_MATH_CONV_WINOGRAD_INL_H_
#undef SLUICE_OPERATORS_MATH_CONV_WINOGRAD_INL_H_
#else
#define SLUICE_OPERATORS_MATH_CONV_WINOGRAD_INL_H_
#endif

#include <hwy/highway.h>

#include "sluice/operators/math/simd_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The points of F(4 x 4), which interpolates at 0, p, -p, q, -q and infinity.
constexpr float kP = 0.75f, kQ = 1.5f;
constexpr float kP2 = kP * kP, kQ2 = kQ * kQ;

// Row i of a filter's transform (G of Lavin and Gray) is (1, x, x^2) / N(x) at
// point x, where N(x) is the product of its differences from the other points;
// at infinity it is (0, 0, 1).
constexpr double kFilters2[4][3] = {
    {1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double kAtP = 1 / (2.0 * kP2 * (kP2 - kQ2));
constexpr double kAtQ = 1 / (2.0 * kQ2 * (kQ2 - kP2));
constexpr double kFilters4[6][3] = {
    {1.0 / (kP2 * kQ2), 0, 0},    {kAtP, kAtP* kP, kAtP* kP2},
    {kAtP, -kAtP* kP, kAtP* kP2}, {kAtQ, kAtQ* kQ, kAtQ* kQ2},
    {kAtQ, -kAtQ* kQ, kAtQ* kQ2}, {0, 0, 1}};

// Computes out = B^T in for kM + 2 pixels.
template <int kM>
HWY_INLINE void TransformPixels(const V<float>* in, V<float>* out) {
  if constexpr (kM == 2) {
    out[0] = hn::Sub(in[0], in[2]);
    out[1] = hn::Add(in[1], in[2]);
    out[2] = hn::Sub(in[2], in[1]);
    out[3] = hn::Sub(in[3], in[1]);
  } else {
    const Tag<float> d;
    const auto p2 = hn::Set(d, kP2), q2 = hn::Set(d, kQ2);
    const auto product = hn::Set(d, kP2 * kQ2), sum = hn::Set(d, kP2 + kQ2);
    out[0] = hn::MulAdd(product, in[0], hn::NegMulAdd(sum, in[2], in[4]));
    const auto even_p = hn::NegMulAdd(q2, in[2], in[4]);
    const auto odd_p = hn::Mul(hn::Set(d, kP), hn::NegMulAdd(q2, in[1], in[3]));
    out[1] = hn::Add(even_p, odd_p);
    out[2] = hn::Sub(even_p, odd_p);
    const auto even_q = hn::NegMulAdd(p2, in[2], in[4]);
    const auto odd_q = hn::Mul(hn::Set(d, kQ), hn::NegMulAdd(p2, in[1], in[3]));
    out[3] = hn::Add(even_q, odd_q);
    out[4] = hn::Sub(even_q, odd_q);
    out[5] = hn::MulAdd(product, in[1], hn::NegMulAdd(sum, in[3], in[5]));
  }
}

// Computes out = A^T in for kM + 2 products.
template <int kM>
HWY_INLINE void TransformOutputs(const V<float>* in, V<float>* out) {
  if constexpr (kM == 2) {
    out[0] = hn::Add(hn::Add(in[0], in[1]), in[2]);
    out[1] = hn::Add(hn::Sub(in[1], in[2]), in[3]);
  } else {
    const Tag<float> d;
    const auto sum_p = hn::Add(in[1], in[2]), sum_q = hn::Add(in[3], in[4]);
    const auto odd_p = hn::Mul(hn::Set(d, kP), hn::Sub(in[1], in[2]));
    const auto odd_q = hn::Mul(hn::Set(d, kQ), hn::Sub(in[3], in[4]));
    const auto p2 = hn::Set(d, kP2), q2 = hn::Set(d, kQ2);
    out[0] = hn::Add(in[0], hn::Add(sum_p, sum_q));
    out[1] = hn::Add(odd_p, odd_q);
    out[2] = hn::MulAdd(p2, sum_p, hn::Mul(q2, sum_q));
    out[3] = hn::MulAdd(p2, odd_p, hn::MulAdd(q2, odd_q, in[5]));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
