#include "sluice/operators/math/movement/interleave.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Interleaves whole vectors of kGroup runs; returns the elements done of each.
template <int kGroup>
HWY_INLINE int64_t InterleaveVectors(const uint32_t* HWY_RESTRICT from,
                                     int64_t count,
                                     uint32_t* HWY_RESTRICT to) {
  const hn::ScalableTag<uint32_t> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    const auto a = hn::LoadU(d, from + k);
    const auto b = hn::LoadU(d, from + count + k);
    if constexpr (kGroup == 2) {
      hn::StoreInterleaved2(a, b, d, to + 2 * k);
    } else {
      const auto c = hn::LoadU(d, from + 2 * count + k);
      if constexpr (kGroup == 3) {
        hn::StoreInterleaved3(a, b, c, d, to + 3 * k);
      } else {
        hn::StoreInterleaved4(a, b, c, hn::LoadU(d, from + 3 * count + k), d,
                              to + 4 * k);
      }
    }
  }
  return k;
}

void InterleaveRow(const uint32_t* HWY_RESTRICT from,
                   int64_t group,
                   int64_t count,
                   uint32_t* HWY_RESTRICT to) {
  int64_t k = 0;
  if (group == 2) k = InterleaveVectors<2>(from, count, to);
  if (group == 3) k = InterleaveVectors<3>(from, count, to);
  if (group == 4) k = InterleaveVectors<4>(from, count, to);
  for (; k < count; ++k) {
    for (int64_t i = 0; i < group; ++i) {
      to[k * group + i] = from[i * count + k];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "sluice/platform/parallel_for.h"

namespace sluice {

HWY_EXPORT(InterleaveRow);

void Interleave(const uint32_t* from,
                int64_t rows,
                int64_t group,
                int64_t count,
                uint32_t* to) {
  constexpr int64_t kShard = int64_t{1} << 15;  // elements
  const int64_t size = group * count;
  const int64_t grain = 1 + kShard / (1 + size);
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(InterleaveRow)
      (from + row * size, group, count, to + row * size);
    }
  });
}

}  // namespace sluice
#endif  // HWY_ONCE
