#include "sluice/operators/norm/row_norm.h"

#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <math.h>

#include "sluice/operators/math/simd_doubles-inl.h"
#include "sluice/operators/math/simd_loops-inl.h"
#include "sluice/operators/norm/far_moments.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE ScaledMoments MomentsOf(const RowNormGeometry& g, const T* x) {
  const auto count = static_cast<double>(g.size());
  double mean = 0;
  if (g.centered) {
    const auto value = [x](auto d, int64_t i)
                           HWY_ATTR { return LoadDoubles(d, x + i); };
    mean = SumOf(value, g.size()) / count;
  }
  const auto square = [x, mean](auto d, int64_t i) HWY_ATTR {
    const auto distance = hn::Sub(LoadDoubles(d, x + i), hn::Set(d, mean));
    return hn::Mul(distance, distance);
  };
  return MomentsInRange<T>(
      {mean, SumOf(square, g.size()) / count}, g.epsilon, g.centered, g.size(),
      [x](int64_t i) { return static_cast<double>(x[i]); });
}

// Computes (x - mean) * inverse for vectors of T. It also subtracts the part of
// the mean that T cannot hold: of a mean of 1e4 a float keeps three decimals.
// The difference is halved, as x - mean may overflow.
template <typename T>
struct Normal {
  const T* x;
  T high, low, inverse;

  HWY_INLINE Normal(const T* row, double mean, double inverse_std)
      : x(row),
        high(static_cast<T>(0.5 * mean)),
        low(static_cast<T>(0.5 * mean - static_cast<double>(high))),
        inverse(static_cast<T>(2 * inverse_std)) {}

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, int64_t i) const {
    const auto part =
        hn::MulSub(hn::LoadU(d, x + i), hn::Set(d, T{0.5}), hn::Set(d, high));
    return hn::Mul(hn::Sub(part, hn::Set(d, low)), hn::Set(d, inverse));
  }
};

// Writes one row with a scale and a bias for each element.
template <bool kScale, bool kBias, typename T>
HWY_INLINE void ScaleElements(const Normal<T>& normal,
                              const T* scale,
                              const T* bias,
                              int64_t count,
                              T* y) {
  const auto step = [&](auto d, int64_t i) HWY_ATTR {
    auto value = normal(d, i);
    if constexpr (kScale) value = hn::Mul(value, hn::LoadU(d, scale + i));
    if constexpr (kBias) value = hn::Add(value, hn::LoadU(d, bias + i));
    return value;
  };
  ForEachElement(step, count, y);
}

template <typename T>
HWY_INLINE void ScaleRow(const RowNormGeometry& g,
                         const T* x,
                         double mean,
                         double inverse,
                         const T* scale,
                         const T* bias,
                         T* y) {
  if (g.run == 1) {
    const Normal<T> normal(x, mean, inverse);
    if (scale != nullptr && bias != nullptr) {
      ScaleElements<true, true>(normal, scale, bias, g.size(), y);
    } else if (scale != nullptr) {
      ScaleElements<true, false>(normal, scale, bias, g.size(), y);
    } else if (bias != nullptr) {
      ScaleElements<false, true>(normal, scale, bias, g.size(), y);
    } else {
      ScaleElements<false, false>(normal, scale, bias, g.size(), y);
    }
    return;
  }
  for (int64_t c = 0; c < g.channels; ++c, x += g.run, y += g.run) {
    const Normal<T> normal(x, mean, inverse);
    const T factor = scale == nullptr ? T{1} : scale[c];
    const T shift = bias == nullptr ? T{0} : bias[c];
    const auto step = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Add(hn::Mul(normal(d, i), hn::Set(d, factor)),
                     hn::Set(d, shift));
    };
    ForEachElement(step, g.run, y);
  }
}

template <typename T>
HWY_INLINE const T* From(const T* all, int64_t first) {
  return all == nullptr ? nullptr : all + first;
}

template <typename T>
HWY_INLINE void ForwardRows(const RowNormGeometry& g,
                            const RowNormArgs<T>& args,
                            int64_t begin,
                            int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* x = args.x + row * g.size();
    const ScaledMoments moments = MomentsOf(g, x);
    const double inverse = moments.shrink / ::sqrt(moments.Square(g.epsilon));
    const int64_t first = row % g.groups * g.channels;
    ScaleRow(g, x, moments.Mean(), inverse, From(args.scale, first),
             From(args.bias, first), args.y + row * g.size());
    if (args.mean != nullptr) args.mean[row] = static_cast<T>(moments.Mean());
    if (args.variance != nullptr) {
      args.variance[row] = static_cast<T>(moments.Variance());
    }
  }
}

// The sums of w = y_grad * scale and of w (x - mean) inverse over one row.
struct GradSums {
  double w = 0, product = 0;
};

template <typename T>
HWY_INLINE GradSums SumsOf(const RowNormGeometry& g,
                           const T* x,
                           double mean,
                           double inverse,
                           const T* y_grad,
                           const T* scale) {
  const auto sums = [=](int64_t first, int64_t count, const auto& w) HWY_ATTR {
    const auto product = [&](auto d, int64_t i) HWY_ATTR {
      const auto distance =
          hn::Sub(LoadDoubles(d, x + first + i), hn::Set(d, mean));
      return hn::Mul(w(d, i), distance);
    };
    const double sum = inverse * SumOf(product, count);
    const hn::CappedTag<double, 1> one;
    return GradSums{
        SumOf(w, count),
        SumInRange<T>(
            sum, mean, inverse, count,
            [&](int64_t i) HWY_ATTR { return hn::GetLane(w(one, i)); },
            [&](int64_t i)
                HWY_ATTR { return static_cast<double>(x[first + i]); })};
  };
  if (g.run == 1 && scale != nullptr) {
    return sums(0, g.size(), [=](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(LoadDoubles(d, y_grad + i), LoadDoubles(d, scale + i));
    });
  }
  // Without a scale the whole row is treated as one channel.
  const int64_t run = scale == nullptr ? g.size() : g.run;
  GradSums all;
  for (int64_t first = 0; first < g.size(); first += run) {
    const double factor =
        scale == nullptr ? 1 : static_cast<double>(scale[first / run]);
    const GradSums part = sums(first, run, [=](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(LoadDoubles(d, y_grad + first + i), hn::Set(d, factor));
    });
    all.w += part.w;
    all.product += part.product;
  }
  return all;
}

// x_grad = y_grad * scale * inverse + (x - mean) * inverse * slope + rest.
// The factors are separate, as inverse * slope may exceed T's range.
template <typename T>
struct GradLine {
  T inverse, slope, rest;
};

template <typename T>
HWY_INLINE void GradRow(const RowNormGeometry& g,
                        const T* x,
                        const double* moments,
                        const GradLine<T>& line,
                        const T* y_grad,
                        const T* scale,
                        T* x_grad) {
  const int64_t run = g.run == 1 || y_grad == nullptr ? g.size() : g.run;
  for (int64_t first = 0; first < g.size(); first += run) {
    const Normal<T> normal(x + first, moments[0], moments[1]);
    const auto own = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Add(hn::Mul(normal(d, i), hn::Set(d, line.slope)),
                     hn::Set(d, line.rest));
    };
    T* to = x_grad + first;
    if (y_grad == nullptr) {
      ForEachElement(own, run, to);
      continue;
    }
    const T* from = y_grad + first;
    if (g.run == 1 && scale != nullptr) {
      const auto step = [&](auto d, int64_t i) HWY_ATTR {
        const auto w = hn::Mul(hn::LoadU(d, from + i), hn::LoadU(d, scale + i));
        return hn::Add(hn::Mul(w, hn::Set(d, line.inverse)), own(d, i));
      };
      ForEachElement(step, run, to);
      continue;
    }
    const T factor = scale == nullptr ? T{1} : scale[first / run];
    const auto step = [&](auto d, int64_t i) HWY_ATTR {
      const auto w = hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor));
      return hn::Add(hn::Mul(w, hn::Set(d, line.inverse)), own(d, i));
    };
    ForEachElement(step, run, to);
  }
}

// Writes the mean and the inverse deviation of each row to `moments`, and the
// gradients of its elements if requested.
template <typename T>
HWY_INLINE void BackwardRows(const RowNormGeometry& g,
                             const RowNormGradArgs<T>& args,
                             double* moments,
                             int64_t begin,
                             int64_t end) {
  const auto count = static_cast<double>(g.size());
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * g.size();
    const T* x = args.x + at;
    const ScaledMoments own = MomentsOf(g, x);
    const double inverse = own.shrink / ::sqrt(own.Square(g.epsilon));
    moments[2 * row] = own.Mean();
    moments[2 * row + 1] = inverse;
    if (args.x_grad == nullptr) continue;
    const T* scale = From(args.scale, row % g.groups * g.channels);
    const T* y_grad = From(args.y_grad, at);
    GradSums sums;
    if (y_grad != nullptr) {
      sums = SumsOf(g, x, own.Mean(), inverse, y_grad, scale);
    }
    const double mean_grad = args.mean_grad == nullptr
                                 ? 0
                                 : static_cast<double>(args.mean_grad[row]);
    const double variance_grad =
        args.variance_grad == nullptr
            ? 0
            : 2 * static_cast<double>(args.variance_grad[row]) / inverse;
    const double slope = (variance_grad - inverse * sums.product) / count;
    const double rest = g.centered ? (mean_grad - inverse * sums.w) / count : 0;
    GradRow(g, x, moments + 2 * row,
            GradLine<T>{static_cast<T>(inverse), static_cast<T>(slope),
                        static_cast<T>(rest)},
            y_grad, scale, args.x_grad + at);
  }
}

// Adds `count` neighbouring channels with a run of 1 to the sums of y_grad and
// of y_grad (x - mean) inverse.
template <typename D, typename T>
HWY_INLINE int64_t AddToSums(D d,
                             const T* x,
                             const T* y_grad,
                             const double* moments,
                             int64_t i,
                             int64_t count,
                             double* scale_sums,
                             double* bias_sums) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  // The difference is halved, as x - mean may overflow.
  const auto half = hn::Set(d, 0.5);
  const auto mean = hn::Set(d, 0.5 * moments[0]);
  const auto inverse = hn::Set(d, 2 * moments[1]);
  for (; i + kLanes <= count; i += kLanes) {
    const auto grad = LoadDoubles(d, y_grad + i);
    const auto normal =
        hn::Mul(hn::MulSub(LoadDoubles(d, x + i), half, mean), inverse);
    hn::StoreU(hn::Add(hn::LoadU(d, bias_sums + i), grad), d, bias_sums + i);
    hn::StoreU(hn::Add(hn::LoadU(d, scale_sums + i), hn::Mul(grad, normal)), d,
               scale_sums + i);
  }
  return i;
}

// Computes the gradients of `count` neighbouring scales and biases of one
// group: at most kParameterBlock with a run of 1, otherwise one.
template <typename T>
HWY_INLINE void ParameterGrads(const RowNormGeometry& g,
                               const RowNormGradArgs<T>& args,
                               const double* moments,
                               int64_t group,
                               int64_t first,
                               int64_t count) {
  double scale_sums[RowNormGeometry::kParameterBlock] = {};
  double bias_sums[RowNormGeometry::kParameterBlock] = {};
  for (int64_t row = group; row < g.rows && args.y_grad != nullptr;
       row += g.groups) {
    const int64_t at = row * g.size() + first * g.run;
    const T* x = args.x + at;
    const T* y_grad = args.y_grad + at;
    const double* own = moments + 2 * row;
    if (g.run == 1) {
      const hn::ScalableTag<double> d;
      const int64_t i =
          AddToSums(d, x, y_grad, own, 0, count, scale_sums, bias_sums);
      AddToSums(hn::CappedTag<double, 1>(), x, y_grad, own, i, count,
                scale_sums, bias_sums);
      continue;
    }
    const double mean = 0.5 * own[0], inverse = 2 * own[1];
    const auto grad = [=](auto d, int64_t i)
                          HWY_ATTR { return LoadDoubles(d, y_grad + i); };
    const auto product = [=](auto d, int64_t i) HWY_ATTR {
      const auto distance =
          hn::MulSub(LoadDoubles(d, x + i), hn::Set(d, 0.5), hn::Set(d, mean));
      return hn::Mul(LoadDoubles(d, y_grad + i),
                     hn::Mul(distance, hn::Set(d, inverse)));
    };
    bias_sums[0] += SumOf(grad, g.run);
    scale_sums[0] += SumOf(product, g.run);
  }
  const int64_t to = group * g.channels + first;
  for (int64_t i = 0; i < count; ++i) {
    if (args.scale_grad != nullptr) {
      args.scale_grad[to + i] = static_cast<T>(scale_sums[i]);
    }
    if (args.bias_grad != nullptr) {
      args.bias_grad[to + i] = static_cast<T>(bias_sums[i]);
    }
  }
}

// Computes blocks [begin, end), numbered across groups.
template <typename T>
HWY_INLINE void ParameterBlocks(const RowNormGeometry& g,
                                const RowNormGradArgs<T>& args,
                                const double* moments,
                                int64_t width,
                                int64_t begin,
                                int64_t end) {
  const int64_t blocks = (g.channels + width - 1) / width;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = i % blocks * width;
    ParameterGrads(g, args, moments, i / blocks, first,
                   HWY_MIN(width, g.channels - first));
  }
}

SLUICE_SIMD_FLOATS(ForwardRows);
SLUICE_SIMD_FLOATS(BackwardRows);
SLUICE_SIMD_FLOATS(ParameterBlocks);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(ForwardRows);
SLUICE_EXPORT_FLOATS(BackwardRows);
SLUICE_EXPORT_FLOATS(ParameterBlocks);

// Below about 10 us of work, a second thread costs more than it saves.
int64_t Grain(int64_t elements) {
  return 1 + 16'384 / (1 + elements);
}

}  // namespace

template <typename T>
void RowNorm(const RowNormGeometry& geometry, const RowNormArgs<T>& args) {
  const bool moments = args.mean != nullptr || args.variance != nullptr;
  if (geometry.size() == 0 && !moments) return;
  const auto run = ForwardRowsFor<T>();
  ParallelFor(
      geometry.rows, Grain(geometry.size()),
      [&](int64_t begin, int64_t end) { run(geometry, args, begin, end); });
}

template <typename T>
void RowNormGrad(const RowNormGeometry& geometry,
                 const RowNormGradArgs<T>& args,
                 double* moments) {
  if (geometry.size() == 0) {
    for (T* grad : {args.scale_grad, args.bias_grad}) {
      if (grad != nullptr) std::fill_n(grad, geometry.parameters(), T{0});
    }
    return;
  }
  const auto rows = BackwardRowsFor<T>();
  ParallelFor(geometry.rows, Grain(2 * geometry.size()),
              [&](int64_t begin, int64_t end) {
                rows(geometry, args, moments, begin, end);
              });
  if (args.scale_grad == nullptr && args.bias_grad == nullptr) return;
  const auto blocks = ParameterBlocksFor<T>();
  const int64_t width =
      geometry.run == 1 ? RowNormGeometry::kParameterBlock : 1;
  const int64_t of_group = (geometry.channels + width - 1) / width;
  const int64_t work = geometry.rows / geometry.groups *
                       std::min(width, geometry.channels) * geometry.run;
  ParallelFor(geometry.groups * of_group, Grain(work),
              [&](int64_t begin, int64_t end) {
                blocks(geometry, args, moments, width, begin, end);
              });
}

SLUICE_INSTANTIATE_FLOATS(RowNorm);
SLUICE_INSTANTIATE_FLOATS(RowNormGrad);

}  // namespace sluice
#endif  // HWY_ONCE
