#include "sluice/operators/sequence/discriminative_loss_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_kernel.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The discriminative loss of De Brabandere, Neven and Van Gool, "Semantic
// Instance Segmentation with a Discriminative Loss Function", 2017, over
// embeddings and run-length coded masks (embedding_mask.h), on the CPU. For the
// C masks of an image that have pixels, with means mu and pixel counts n:
//
//   variance       1 / C * the sum over masks c and their pixels x of
//                  max(0, |mu_c - x| - delta_v)^2 / n_c
//   distance       1 / (C (C - 1)) * the sum over ordered pairs a, b of
//                  max(0, 2 delta_d - |mu_a - mu_b|)^2
//   regularization 1 / C * the sum over masks c of |mu_c|
//
// The loss is their weighted sum, computed in double. Norms are Euclidean; the
// gradient of a norm of 0 is 0. NaN is kept.

template <typename A>
double EmbeddingDistance(const A* a, const double* b, int64_t features) {
  double sum = 0;
  for (int64_t f = 0; f < features; ++f) {
    const double difference = static_cast<double>(a[f]) - b[f];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

// Returns the derivative of max(0, distance - delta)^2 / 2 by the distance,
// divided by the distance.
double PullOf(double distance, double delta) {
  const double over = DiscriminativeHinge(distance - delta);
  return over == 0 ? 0 : over / distance;
}

// Masks are numbered across images: mask m belongs to image m / masks.
template <typename T, typename S>
class DiscriminativeMasks {
 public:
  DiscriminativeMasks(const T* embedding,
                      const S* mask,
                      const EmbeddingMaskSizes& sizes,
                      const DiscriminativeLossParams& params,
                      double* scratch)
      : embedding_(embedding),
        mask_(mask),
        sizes_(sizes),
        p_(params),
        n_(sizes.features),
        counts_(scratch),
        terms_(counts_ + count()),
        means_(terms_ + count()),
        mean_grads_(means_ + count() * n_) {}

  // Calls work(m) for every mask.
  template <typename Work>
  void ForEachMask(const Work& work) const {
    const int64_t grain =
        EmbeddingMaskGrain(sizes_.x * (sizes_.y / 4 + 1) * n_);
    ParallelFor(count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        work(m);
      }
    });
  }

  void FindMean(int64_t m) const {
    double* mean = means_ + m * n_;
    std::fill(mean, mean + n_, 0.0);
    int64_t pixels = 0;
    ForEachPixel(m, [&](const T* x) {
      ++pixels;
      for (int64_t f = 0; f < n_; ++f) {
        mean[f] += static_cast<double>(x[f]);
      }
    });
    counts_[m] = static_cast<double>(pixels);
    for (int64_t f = 0; f < n_ && pixels > 0; ++f) {
      mean[f] /= counts_[m];
    }
  }

  // Computes the term of mask m in the loss of its image. Requires the means.
  void FindTerm(int64_t m) const {
    terms_[m] = 0;
    if (counts_[m] == 0) return;
    const double* mean = means_ + m * n_;
    double variance = 0;
    ForEachPixel(m, [&](const T* x) {
      const double over =
          DiscriminativeHinge(EmbeddingDistance(x, mean, n_) - p_.delta_v);
      variance += over * over;
    });
    double distance = 0;
    ForEachOther(m, [&](const double* /*other*/, double apart) {
      const double missing = DiscriminativeHinge(2 * p_.delta_d - apart);
      distance += missing * missing;
    });
    const double masks = MasksBeside(m);
    terms_[m] = p_.variance_weight * variance / counts_[m] / masks +
                p_.distance_weight * distance * DiscriminativePairShare(masks) +
                p_.regularization_weight * NormOf(mean) / masks;
  }

  double LossOf(int64_t image) const {
    double loss = 0;
    for (int64_t m = image * sizes_.masks; m < (image + 1) * sizes_.masks;
         ++m) {
      loss += terms_[m];
    }
    return loss;
  }

  // Computes the gradient of an image's loss by the mean of mask m, divided by
  // its pixels. Sets terms_ to the factor of each pixel's own gradient.
  void FindMeanGradient(int64_t m) const {
    if (counts_[m] == 0) return;
    const double* mean = means_ + m * n_;
    double* grad = mean_grads_ + m * n_;
    std::fill(grad, grad + n_, 0.0);
    const double masks = MasksBeside(m);
    terms_[m] = 2 * p_.variance_weight / masks / counts_[m];
    ForEachPixel(m, [&](const T* x) {
      const double pull =
          terms_[m] * PullOf(EmbeddingDistance(x, mean, n_), p_.delta_v);
      AddDifference(-pull, x, mean, grad);
    });
    const double share =
        4 * p_.distance_weight * DiscriminativePairShare(masks);
    ForEachOther(m, [&](const double* other, double apart) {
      const double missing = DiscriminativeHinge(2 * p_.delta_d - apart);
      if (apart != 0) AddDifference(share * missing / apart, other, mean, grad);
    });
    const double norm = NormOf(mean);
    for (int64_t f = 0; f < n_; ++f) {
      if (norm != 0) {
        grad[f] += p_.regularization_weight / masks * mean[f] / norm;
      }
      grad[f] /= counts_[m];
    }
  }

  // Computes the gradient of column x of an image from those of the means.
  void FindColumn(int64_t image, int64_t x, double loss_grad, T* to) const {
    const int64_t first = (image * sizes_.x + x) * sizes_.y * n_;
    std::fill(to + first, to + first + sizes_.y * n_, T{0});
    for (int64_t m = image * sizes_.masks; m < (image + 1) * sizes_.masks;
         ++m) {
      const double* mean = means_ + m * n_;
      const double* mean_grad = mean_grads_ + m * n_;
      const S* run = mask_ + (m * sizes_.x + x) * 2;
      for (int64_t at = first + run[0] * n_; at < first + run[1] * n_;
           at += n_) {
        const T* from = embedding_ + at;
        const double pull =
            terms_[m] * PullOf(EmbeddingDistance(from, mean, n_), p_.delta_v);
        for (int64_t f = 0; f < n_; ++f) {
          const double difference = static_cast<double>(from[f]) - mean[f];
          to[at + f] +=
              static_cast<T>(loss_grad * (pull * difference + mean_grad[f]));
        }
      }
    }
  }

 private:
  int64_t count() const { return sizes_.batch * sizes_.masks; }

  template <typename Visit>
  void ForEachPixel(int64_t m, const Visit& visit) const {
    const T* image = embedding_ + m / sizes_.masks * sizes_.x * sizes_.y * n_;
    for (int64_t x = 0; x < sizes_.x; ++x) {
      const S* run = mask_ + (m * sizes_.x + x) * 2;
      for (int64_t y = run[0]; y < run[1]; ++y) {
        visit(image + (x * sizes_.y + y) * n_);
      }
    }
  }

  // Returns the number of masks of m's image that have pixels.
  double MasksBeside(int64_t m) const {
    const double* first = counts_ + m / sizes_.masks * sizes_.masks;
    return static_cast<double>(sizes_.masks -
                               std::count(first, first + sizes_.masks, 0.0));
  }

  // Calls visit(mean, distance) for each other non-empty mask of m's image.
  template <typename Visit>
  void ForEachOther(int64_t m, const Visit& visit) const {
    const int64_t first = m / sizes_.masks * sizes_.masks;
    for (int64_t other = first; other < first + sizes_.masks; ++other) {
      if (other == m || counts_[other] == 0) continue;
      const double* mean = means_ + other * n_;
      visit(mean, EmbeddingDistance(mean, means_ + m * n_, n_));
    }
  }

  double NormOf(const double* mean) const {
    double sum = 0;
    for (int64_t f = 0; f < n_; ++f) {
      sum += mean[f] * mean[f];
    }
    return std::sqrt(sum);
  }

  // to += factor * (a - b)
  template <typename A>
  void AddDifference(double factor,
                     const A* a,
                     const double* b,
                     double* to) const {
    for (int64_t f = 0; f < n_; ++f) {
      to[f] += factor * (static_cast<double>(a[f]) - b[f]);
    }
  }

  const T* embedding_;
  const S* mask_;
  const EmbeddingMaskSizes& sizes_;
  const DiscriminativeLossParams& p_;
  const int64_t n_;
  double* counts_;
  double* terms_;
  double* means_;
  double* mean_grads_;
};

// Computes the loss of each image through ParallelFor. The bits do not depend
// on the number of threads.
template <typename T, typename S>
void DiscriminativeLoss(const T* embedding,
                        const S* mask,
                        const EmbeddingMaskSizes& sizes,
                        const DiscriminativeLossParams& params,
                        double* scratch,
                        T* loss) {
  const DiscriminativeMasks<T, S> masks(embedding, mask, sizes, params,
                                        scratch);
  masks.ForEachMask([&](int64_t m) { masks.FindMean(m); });
  masks.ForEachMask([&](int64_t m) { masks.FindTerm(m); });
  for (int64_t image = 0; image < sizes.batch; ++image) {
    loss[image] = static_cast<T>(masks.LossOf(image));
  }
}

template <typename T, typename S>
void DiscriminativeLossGradient(const T* embedding,
                                const S* mask,
                                const EmbeddingMaskSizes& sizes,
                                const DiscriminativeLossParams& params,
                                const T* loss_grad,
                                double* scratch,
                                T* embedding_grad) {
  const DiscriminativeMasks<T, S> masks(embedding, mask, sizes, params,
                                        scratch);
  masks.ForEachMask([&](int64_t m) { masks.FindMean(m); });
  masks.ForEachMask([&](int64_t m) { masks.FindMeanGradient(m); });
  const int64_t grain =
      EmbeddingMaskGrain(sizes.y * sizes.features + sizes.masks);
  ParallelFor(sizes.batch * sizes.x, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / sizes.x;
      masks.FindColumn(image, i % sizes.x,
                       static_cast<double>(loss_grad[image]), embedding_grad);
    }
  });
}

template <typename T, bool kGradient>
class DiscriminativeLossKernelOf : public OpKernel {
 public:
  explicit DiscriminativeLossKernelOf(const OpKernelConstruction& construction)
      : params_(DiscriminativeLossParamsOf(construction)) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    sizes_ = EmbeddingMaskSizesOf(preparation.query.inputs[0],
                                  preparation.query.inputs[1]);
    preparation.scratch_bytes = DiscriminativeLossScratch(sizes_);
  }

  void Compute(OpKernelContext& context) const override {
    WithEmbeddingRuns(context, sizes_.y, [&](const auto* runs) {
      Tensor& out = context.AllocateOutput(0, dims_);
      if (out.numel() == 0) return;
      const auto* embedding =
          static_cast<const T*>(context.Input("Embedding").raw_data());
      auto* scratch = static_cast<double*>(context.scratch());
      if constexpr (kGradient) {
        DiscriminativeLossGradient(embedding, runs, sizes_, params_,
                                   context.Input("Loss@GRAD").data<T>(),
                                   scratch, out.data<T>());
      } else {
        DiscriminativeLoss(embedding, runs, sizes_, params_, scratch,
                           out.data<T>());
      }
    });
  }

 private:
  const DiscriminativeLossParams params_;
  DDim dims_;
  EmbeddingMaskSizes sizes_{};
};

template <typename T>
class DiscriminativeLossKernel final
    : public DiscriminativeLossKernelOf<T, false> {
  using DiscriminativeLossKernelOf<T, false>::DiscriminativeLossKernelOf;
};
template <typename T>
class DiscriminativeLossGradKernel final
    : public DiscriminativeLossKernelOf<T, true> {
  using DiscriminativeLossKernelOf<T, true>::DiscriminativeLossKernelOf;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(discriminative_loss,
                       DiscriminativeLossKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(discriminative_loss_grad,
                       DiscriminativeLossGradKernel<FloatTypes>);

}  // namespace sluice
