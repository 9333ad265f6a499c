#include "sluice/operators/math/sequence/viterbi_step.h"

#include <cmath>
#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_doubles-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;  // divide a stride

// Computes the maxima of kV vectors of tags from tag j on.
template <int kV, typename T>
HWY_INLINE void Maxima(const ViterbiStepArgs<T>& args, int64_t j) {
  const Doubles d;
  const hn::Rebind<int32_t, Doubles> d_from;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t stride = ViterbiStride(args.tags);
  hn::Vec<Doubles> best[kV], from[kV];
  const auto first = hn::Set(d, args.scores[0]);
  for (int v = 0; v < kV; ++v) {
    best[v] = hn::Add(first, hn::LoadU(d, args.pairs + j + v * lanes));
    from[v] = hn::Zero(d);
  }
  for (int64_t i = 1; i < args.tags; ++i) {
    const auto score = hn::Set(d, args.scores[i]);
    const auto index = hn::Set(d, static_cast<double>(i));
    const double* pairs = args.pairs + i * stride + j;
    for (int v = 0; v < kV; ++v) {
      const auto sum = hn::Add(score, hn::LoadU(d, pairs + v * lanes));
      const auto larger = hn::Gt(sum, best[v]);
      best[v] = hn::IfThenElse(larger, sum, best[v]);
      from[v] = hn::IfThenElse(larger, index, from[v]);
    }
  }
  for (int v = 0; v < kV; ++v) {
    hn::StoreU(best[v], d, args.next + j + v * lanes);
    hn::StoreU(hn::DemoteTo(d_from, from[v]), d_from,
               args.from + j + v * lanes);
  }
}

// Returns the largest number, or 0 if that is not finite; not NaN.
template <typename T>
HWY_INLINE double Largest(const T* x, int64_t count) {
  const Doubles d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Set(d, -std::numeric_limits<double>::infinity());
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    const auto value = LoadDoubles(d, x + j);
    largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
  }
  double most = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; j < count; ++j) {
    const auto value = static_cast<double>(x[j]);
    if (value > most) most = value;
  }
  return std::isfinite(most) ? most : 0;
}

template <typename T>
void Step(const ViterbiStepArgs<T>& args) {
  const Doubles d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t stride = ViterbiStride(args.tags);
  int64_t j = 0;
  for (; j + 4 * lanes <= stride; j += 4 * lanes) {
    Maxima<4>(args, j);
  }
  for (; j < stride; j += lanes) {
    Maxima<1>(args, j);
  }
  const double emission = Largest(args.emission, args.tags);
  for (j = 0; j < args.tags; ++j) {
    args.next[j] += static_cast<double>(args.emission[j]) - emission;
  }
  const double score = Largest(args.next, args.tags);
  for (j = 0; j < args.tags; ++j) {
    args.next[j] -= score;
  }
}

SLUICE_SIMD_FLOATS(Step);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Step);

}  // namespace

template <typename T>
void ViterbiStep(const ViterbiStepArgs<T>& args) {
  StepFor<T>()(args);
}

SLUICE_INSTANTIATE_FLOATS(ViterbiStep);

}  // namespace sluice
#endif  // HWY_ONCE
