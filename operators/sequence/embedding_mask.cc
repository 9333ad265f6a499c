#include "sluice/operators/sequence/embedding_mask.h"

// For each x, a run is split into the pixels up to a block's border, whole
// blocks, and the last pixels. Block sums are cached for all masks at that x,
// so that each is computed once. Many or long masks then cost little more than
// few short ones.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_EMBEDDING_MASK_TASK
#define SLUICE_EMBEDDING_MASK_TASK
namespace sluice {

// The work for masks [begin, end) of one image.
template <typename T, typename S>
struct EmbeddingMaskTask {
  const T* embedding;  // the image's
  const S* mask;       // the image's
  EmbeddingMaskSizes sizes;
  T* mean;         // the image's
  int64_t* count;  // the image's
  int64_t begin, end;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The vectors of block sums and the doubles of mask sums that are on the stack.
constexpr int64_t kCacheVectors = 512;
constexpr int64_t kSums = 4096;

// Processes features in vectors of `D`, which is not wider than N. The last
// vector may overlap the one before it, with equal results.
template <class D, typename S>
class MaskAverager {
 public:
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr int64_t kLanes = hn::MaxLanes(D());

  HWY_INLINE explicit MaskAverager(const EmbeddingMaskTask<T, S>& task)
      : t_(task), n_(task.sizes.features) {
    while (Blocks() > kCacheVectors) {
      block_ *= 2;
    }
  }

  HWY_INLINE void Run() {
    CountPixels();
    const int64_t all = (n_ + kLanes - 1) / kLanes;
    const int64_t most = HWY_MAX(kCacheVectors / HWY_MAX(Blocks(), 1), 1);
    for (int64_t v = 0; v < all; v += vectors_) {
      vectors_ = HWY_MIN(HWY_MIN(most, kSums / kLanes), all - v);
      const int64_t masks = kSums / (vectors_ * kLanes);
      for (int64_t m = t_.begin; m < t_.end; m += masks) {
        AverageSome(m, HWY_MIN(t_.end, m + masks), v);
      }
    }
  }

 private:
  HWY_INLINE int64_t Blocks() const { return t_.sizes.y / block_; }
  // Returns the offset of vector v of a pixel.
  HWY_INLINE int64_t Offset(int64_t v) const {
    return HWY_MIN(v * kLanes, n_ - kLanes);
  }

  HWY_INLINE void CountPixels() {
    for (int64_t m = t_.begin; m < t_.end; ++m) {
      const S* runs = t_.mask + m * t_.sizes.x * 2;
      int64_t pixels = 0;
      for (int64_t x = 0; x < t_.sizes.x; ++x) {
        pixels += runs[2 * x + 1] - runs[2 * x];
      }
      t_.count[m] = pixels;
    }
  }

  // Computes vectors [v, v + vectors_) of masks [begin, end).
  HWY_INLINE void AverageSome(int64_t begin, int64_t end, int64_t v) {
    for (int64_t i = 0; i < (end - begin) * vectors_ * kLanes; ++i) {
      sums_[i] = 0;
    }
    const int64_t x_size = t_.sizes.x;
    for (int64_t x = 0; x < x_size; ++x) {
      for (int64_t b = 0; b < Blocks(); ++b) {
        known_[b] = 0;
      }
      const T* pixels = t_.embedding + x * t_.sizes.y * n_;
      for (int64_t m = begin; m < end; ++m) {
        const S* run = t_.mask + (m * x_size + x) * 2;
        if (run[0] < run[1]) {
          AddRun(pixels, run[0], run[1], v,
                 sums_ + (m - begin) * vectors_ * kLanes);
        }
      }
    }
    for (int64_t m = begin; m < end; ++m) {
      Divide(sums_ + (m - begin) * vectors_ * kLanes, m, v);
    }
  }

  HWY_INLINE void AddRun(
      const T* pixels, int64_t start, int64_t end, int64_t v, double* sums) {
    int64_t first = (start + block_ - 1) / block_, last = end / block_;
    if (first >= last) {  // no whole block
      first = last = 0;
    }
    for (int64_t b = first; b < last; ++b) {
      if (!known_[b]) MakeBlock(pixels, b, v);
    }
    const int64_t head_end = first < last ? first * block_ : end;
    for (int64_t u = 0; u < vectors_; ++u) {
      const T* from = pixels + Offset(v + u);
      V sum = SumPixels(from, start, head_end);
      for (int64_t b = first; b < last; ++b) {
        sum = hn::Add(sum, hn::Load(D(), cache_ + (b * vectors_ + u) * kLanes));
      }
      if (first < last) sum = hn::Add(sum, SumPixels(from, last * block_, end));
      AddToDoubles(sum, sums + u * kLanes);
    }
  }

  HWY_INLINE void MakeBlock(const T* pixels, int64_t b, int64_t v) {
    known_[b] = 1;
    for (int64_t u = 0; u < vectors_; ++u) {
      hn::Store(SumPixels(pixels + Offset(v + u), b * block_, (b + 1) * block_),
                D(), cache_ + (b * vectors_ + u) * kLanes);
    }
  }

  // Two sums allow additions to overlap.
  HWY_INLINE V SumPixels(const T* from, int64_t y, int64_t end) const {
    V even = hn::Zero(D()), odd = hn::Zero(D());
    for (; y + 2 <= end; y += 2) {
      even = hn::Add(even, hn::LoadU(D(), from + y * n_));
      odd = hn::Add(odd, hn::LoadU(D(), from + (y + 1) * n_));
    }
    if (y < end) even = hn::Add(even, hn::LoadU(D(), from + y * n_));
    return hn::Add(even, odd);
  }

  HWY_INLINE void AddToDoubles(V sum, double* to) const {
    if constexpr (sizeof(T) == sizeof(double)) {
      hn::Store(hn::Add(hn::Load(D(), to), sum), D(), to);
#if HWY_TARGET != HWY_SCALAR
    } else if constexpr (kLanes > 1) {
      const hn::Half<D> half;
      const hn::Rebind<double, hn::Half<D>> wide;
      double* upper = to + kLanes / 2;
      const auto a = hn::PromoteTo(wide, hn::LowerHalf(half, sum));
      const auto b = hn::PromoteTo(wide, hn::UpperHalf(half, sum));
      hn::Store(hn::Add(hn::Load(wide, to), a), wide, to);
      hn::Store(hn::Add(hn::Load(wide, upper), b), wide, upper);
#endif
    } else {
      *to += static_cast<double>(hn::GetLane(sum));
    }
  }

  HWY_INLINE void Divide(const double* sums, int64_t m, int64_t v) {
    const double pixels = static_cast<double>(t_.count[m]);
    for (int64_t u = 0; u < vectors_; ++u) {
      T* to = t_.mean + m * n_ + Offset(v + u);
      for (int64_t l = 0; l < kLanes; ++l) {
        to[l] =
            pixels > 0 ? static_cast<T>(sums[u * kLanes + l] / pixels) : T{0};
      }
    }
  }

  const EmbeddingMaskTask<T, S>& t_;
  const int64_t n_;
  int64_t block_ = 16;
  int64_t vectors_ = 1;
  HWY_ALIGN T cache_[kCacheVectors * kLanes];
  HWY_ALIGN double sums_[kSums];
  uint8_t known_[kCacheVectors];
};

template <typename T, typename S, int64_t kLanes>
HWY_NOINLINE void AverageWith(const EmbeddingMaskTask<T, S>& task) {
  MaskAverager<hn::CappedTag<T, kLanes>, S> averager(task);
  averager.Run();
}

template <typename T, typename S>
void Average(const EmbeddingMaskTask<T, S>& task) {
  constexpr int64_t kMost = hn::MaxLanes(hn::ScalableTag<T>());
  const int64_t n = task.sizes.features;
  if (n >= kMost) return AverageWith<T, S, kMost>(task);
  if constexpr (kMost > 8) {
    if (n >= 8) return AverageWith<T, S, 8>(task);
  }
  if constexpr (kMost > 4) {
    if (n >= 4) return AverageWith<T, S, 4>(task);
  }
  if constexpr (kMost > 2) {
    if (n >= 2) return AverageWith<T, S, 2>(task);
  }
  AverageWith<T, S, 1>(task);
}

template <typename T>
void Average32(const EmbeddingMaskTask<T, int32_t>& task) {
  Average(task);
}
template <typename T>
void Average64(const EmbeddingMaskTask<T, int64_t>& task) {
  Average(task);
}
SLUICE_SIMD_FLOATS(Average32);
SLUICE_SIMD_FLOATS(Average64);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Average32);
SLUICE_EXPORT_FLOATS(Average64);

template <typename T, typename S>
void Run(const EmbeddingMaskTask<T, S>& task) {
  if constexpr (std::is_same_v<S, int32_t>) {
    Average32For<T>()(task);
  } else {
    Average64For<T>()(task);
  }
}

}  // namespace

template <typename T, typename S>
void AverageEmbeddingMask(const T* embedding,
                          const S* mask,
                          const EmbeddingMaskSizes& sizes,
                          T* mean,
                          int64_t* count) {
  if (sizes.batch <= 0 || sizes.masks <= 0) return;
  if (sizes.features <= 0) {
    return AverageEmbeddingMaskPlain(embedding, mask, sizes, mean, count);
  }
  const int64_t masks = sizes.masks;
  // Estimates the work by runs that cover a quarter of Y.
  const int64_t grain =
      EmbeddingMaskGrain(sizes.x * (sizes.y / 4 + 1) * sizes.features);
  ParallelFor(sizes.batch * masks, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t b = begin / masks;
      const int64_t stop = HWY_MIN(end, (b + 1) * masks);
      Run(EmbeddingMaskTask<T, S>{
          embedding + b * sizes.x * sizes.y * sizes.features,
          mask + b * masks * sizes.x * 2, sizes,
          mean + b * masks * sizes.features, count + b * masks,
          begin - b * masks, stop - b * masks});
      begin = stop;
    }
  });
}

SLUICE_INSTANTIATE(AverageEmbeddingMask, float, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMask, float, int64_t);
SLUICE_INSTANTIATE(AverageEmbeddingMask, double, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMask, double, int64_t);

}  // namespace sluice
#endif  // HWY_ONCE
