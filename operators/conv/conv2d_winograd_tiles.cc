#include "sluice/operators/conv/conv2d_winograd_tiles.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/gemm_tile-inl.h"

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

// The offset of each pixel of a tile, or -1 outside of the image.
template <int kM>
struct PixelOffsets {
  static constexpr int kEdge = kM + 2;

  PixelOffsets(const Conv2dGeometry& g, const WinogradTile& tile) {
    for (int r = 0; r < kEdge; ++r) {
      const int64_t row = tile.row + r - g.pad_top;
      for (int c = 0; c < kEdge; ++c) {
        const int64_t column = tile.column + c - g.pad_left;
        const bool inside =
            row >= 0 && row < g.in_h && column >= 0 && column < g.in_w;
        at[r][c] =
            inside ? ((tile.image * g.in_h + row) * g.in_w + column) * g.in_c
                   : -1;
      }
    }
  }
  int64_t at[kEdge][kEdge];
};

constexpr int64_t kLine = 64 / sizeof(float);

// Prefetches the columns of the next tile that this one does not share. The
// hardware prefetcher does not follow this many rows.
template <int kM>
HWY_INLINE void FetchNext(const PixelOffsets<kM>& next, const float* input) {
  for (int r = 0; r < kM + 2; ++r) {
    for (int c = 2; c < kM + 2; ++c) {
      if (next.at[r][c] >= 0) hwy::Prefetch(input + next.at[r][c]);
    }
  }
}

template <int kM>
void Pixels(const Conv2dWinogradPlan& plan,
            const float* HWY_RESTRICT input,
            int64_t first,
            int64_t begin,
            int64_t end,
            float* HWY_RESTRICT pixels) {
  constexpr int kEdge = kM + 2;
  const Tag<float> d;
  const int64_t in_c = plan.g.in_c, point = plan.in_point();
  const int64_t last = plan.tiles() - 1 - first;
  for (int64_t t = begin; t < end; ++t) {
    const PixelOffsets<kM> offsets(plan.g, WinogradTile(plan, first + t));
    const PixelOffsets<kM> next(
        plan.g, WinogradTile(plan, first + HWY_MIN(t + 1, last)));
    float* to = pixels + t * plan.in_row;
    for (int64_t c = 0; c < in_c; c += kLanes<float>) {
      if (c % kLine == 0) FetchNext(next, input + c);
      V<float> half[kEdge][kEdge];  // after the transform of columns
      HWY_UNROLL(6)
      for (int x = 0; x < kEdge; ++x) {
        V<float> in[kEdge];
        HWY_UNROLL(6)
        for (int y = 0; y < kEdge; ++y) {
          const int64_t at = offsets.at[y][x];
          in[y] =
              at < 0 ? hn::Zero(d) : LoadPart(input + at + c, in_c - c, 0.0f);
        }
        V<float> out[kEdge];
        TransformPixels<kM>(in, out);
        HWY_UNROLL(6)
        for (int y = 0; y < kEdge; ++y) {
          half[y][x] = out[y];
        }
      }
      HWY_UNROLL(6)
      for (int y = 0; y < kEdge; ++y) {
        V<float> out[kEdge];
        TransformPixels<kM>(half[y], out);
        HWY_UNROLL(6)
        for (int x = 0; x < kEdge; ++x) {
          hn::StoreU(out[x], d, to + (y * kEdge + x) * point + c);
        }
      }
    }
  }
}

void PixelsOfTiles(const Conv2dWinogradPlan& plan,
                   const float* input,
                   int64_t first,
                   int64_t begin,
                   int64_t end,
                   float* pixels) {
  if (plan.m == 2) {
    Pixels<2>(plan, input, first, begin, end, pixels);
  } else {
    Pixels<4>(plan, input, first, begin, end, pixels);
  }
}

template <int kM>
bool Outputs(const Conv2dWinogradPlan& plan,
             const float* HWY_RESTRICT products,
             const float* HWY_RESTRICT bias,
             int64_t first,
             int64_t t,
             float* HWY_RESTRICT output) {
  constexpr int kEdge = kM + 2;
  const Tag<float> d;
  const Conv2dGeometry& g = plan.g;
  const WinogradTile tile(plan, first + t);
  const int64_t rows = HWY_MIN(int64_t{kM}, g.out_h - tile.row);
  const int64_t columns = HWY_MIN(int64_t{kM}, g.out_w - tile.column);
  const int64_t point = plan.out_point();
  const float* from = products + t * plan.out_row;
  float* to =
      output +
      ((tile.image * g.out_h + tile.row) * g.out_w + tile.column) * g.out_c;
  // Stays 0 while all outputs are finite: 0 times infinity is NaN.
  auto finite = hn::Zero(d);
  for (int64_t o = 0; o < g.out_c; o += kLanes<float>) {
    const int64_t left = g.out_c - o;
    V<float> half[kM][kEdge];  // after the transform of columns
    HWY_UNROLL(6)
    for (int x = 0; x < kEdge; ++x) {
      V<float> in[kEdge];
      HWY_UNROLL(6)
      for (int y = 0; y < kEdge; ++y) {
        in[y] = hn::LoadU(d, from + (y * kEdge + x) * point + o);
      }
      V<float> out[kM];
      TransformOutputs<kM>(in, out);
      HWY_UNROLL(6)
      for (int y = 0; y < kM; ++y) {
        half[y][x] = out[y];
      }
    }
    const auto add =
        bias == nullptr ? hn::Zero(d) : LoadPart(bias + o, left, 0.0f);
    for (int64_t y = 0; y < kM; ++y) {
      V<float> out[kM];
      TransformOutputs<kM>(half[y], out);
      HWY_UNROLL(6)
      for (int64_t x = 0; x < kM; ++x) {
        finite = hn::MulAdd(out[x], hn::Zero(d), finite);
        if (y >= rows || x >= columns) continue;
        StorePart<float>(hn::Add(out[x], add),
                         to + (y * g.out_w + x) * g.out_c + o, left);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(finite, hn::Zero(d)));
}

bool OutputsOfTile(const Conv2dWinogradPlan& plan,
                   const float* products,
                   const float* bias,
                   int64_t first,
                   int64_t t,
                   float* output) {
  return plan.m == 2 ? Outputs<2>(plan, products, bias, first, t, output)
                     : Outputs<4>(plan, products, bias, first, t, output);
}

// Multiplies a row of G by three taps.
HWY_INLINE V<double> TransformFilter(const double* row, const V<double>* taps) {
  const Tag<double> d;
  return hn::MulAdd(hn::Set(d, row[0]), taps[0],
                    hn::MulAdd(hn::Set(d, row[1]), taps[1],
                               hn::Mul(hn::Set(d, row[2]), taps[2])));
}

// Transforms a panel of filters, [in_c][9 taps][kWidth].
void PackPanel(const Conv2dWinogradPlan& plan,
               const float* filter,
               const double* factors,
               int64_t panel,
               float* packed) {
  constexpr int64_t kTaps = 9;
  const Tag<double> d;
  const int64_t out_c = plan.g.out_c, in_c = plan.g.in_c;
  const int64_t edge = plan.edge(), first = panel * kWidth<float>;
  const int64_t panels = (out_c + kWidth<float> - 1) / kWidth<float>;
  const double(*coefficients)[3] = plan.m == 2 ? kFilters2 : kFilters4;
  for (int64_t c = 0; c < in_c; ++c) {
    HWY_ALIGN double taps[kTaps][kWidth<float>] = {};
    for (int64_t l = 0; l < HWY_MIN(kWidth<float>, out_c - first); ++l) {
      const float* from = filter + ((first + l) * in_c + c) * kTaps;
      const double factor = factors == nullptr ? 1.0 : factors[first + l];
      for (int64_t i = 0; i < kTaps; ++i) {
        taps[i][l] = from[i] * factor;
      }
    }
    for (int64_t l = 0; l < kWidth<float>; l += kLanes<double>) {
      for (int64_t y = 0; y < edge; ++y) {
        V<double> row[3];
        for (int64_t x = 0; x < 3; ++x) {
          const V<double> column[3] = {hn::Load(d, taps[x] + l),
                                       hn::Load(d, taps[3 + x] + l),
                                       hn::Load(d, taps[6 + x] + l)};
          row[x] = TransformFilter(coefficients[y], column);
        }
        for (int64_t x = 0; x < edge; ++x) {
          const int64_t product = (y * edge + x) * panels + panel;
          hn::StoreU(hn::DemoteTo(hn::Rebind<float, Tag<double>>(),
                                  TransformFilter(coefficients[x], row)),
                     hn::Rebind<float, Tag<double>>(),
                     packed + (product * in_c + c) * kWidth<float> + l);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {

HWY_EXPORT(PixelsOfTiles);
HWY_EXPORT(OutputsOfTile);
HWY_EXPORT(PackPanel);

void WinogradPixels(const Conv2dWinogradPlan& plan,
                    const float* input,
                    int64_t first,
                    int64_t begin,
                    int64_t end,
                    float* pixels) {
  HWY_DYNAMIC_DISPATCH(PixelsOfTiles)(plan, input, first, begin, end, pixels);
}

bool WinogradOutputs(const Conv2dWinogradPlan& plan,
                     const float* products,
                     const float* bias,
                     int64_t first,
                     int64_t t,
                     float* output) {
  return HWY_DYNAMIC_DISPATCH(OutputsOfTile)(plan, products, bias, first, t,
                                             output);
}

void PackWinogradPanel(const Conv2dWinogradPlan& plan,
                       const float* filter,
                       const double* factors,
                       int64_t panel,
                       float* packed) {
  HWY_DYNAMIC_DISPATCH(PackPanel)(plan, filter, factors, panel, packed);
}

}  // namespace sluice
#endif  // HWY_ONCE
