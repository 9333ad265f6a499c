#include <algorithm>
#include <cmath>

#include "sluice/operators/norm/batch_norm_kernel.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/ranks/collective_context.h"
#include "sluice/platform/ranks/world.h"

// batch_norm over the batches of all ranks, like Fluid's op of that name.
namespace sluice {
namespace {

void AddSyncBatchNorm(Registry& registry) {
  registry.AddOperator("sync_batch_norm", [&](OpSchema& op) {
    const OpSchema& base = registry.Schema("batch_norm");
    op.Extends(base)
        .Doc(
            "batch_norm, whose mean and variance are those of the batches of "
            "all ranks together. A program cloned for testing has batch_norm.")
        .ForTest("batch_norm")
        .Gradient(base.gradient_fn());
  });
  registry.AddOperator("sync_batch_norm_grad", [&](OpSchema& op) {
    op.Extends(registry.Schema("batch_norm_grad"))
        .Doc(
            "The gradients of sync_batch_norm. X@GRAD depends on the gradients "
            "that all ranks have; Scale@GRAD and Bias@GRAD are this rank's "
            "part.");
  });
}

// Runs a collective and waits for its result.
void Exchange(OpKernelContext& context,
              CollectiveKind kind,
              const double* from,
              double* to,
              int64_t count) {
  Collective collective;
  collective.kind = kind;
  collective.from = from;
  collective.to = to;
  collective.count = count;
  collective.dtype = DType::kFloat64;
  auto& queue = context.device_context<CollectiveContext>();
  queue.Start(std::move(collective));
  queue.Wait();
}

// Adds `numbers` doubles to the scratch memory. Returns their offset in
// doubles.
size_t AddScratch(KernelPreparation& preparation, int64_t numbers) {
  const size_t begin =
      (preparation.scratch_bytes + sizeof(double) - 1) / sizeof(double);
  preparation.scratch_bytes =
      (begin + static_cast<size_t>(numbers)) * sizeof(double);
  return begin;
}

template <typename T>
class SyncBatchNormKernel final : public BatchNormKernel<T> {
 public:
  using BatchNormKernel<T>::BatchNormKernel;

  void Prepare(KernelPreparation& preparation) override {
    BatchNormKernel<T>::Prepare(preparation);
    ranks_ = World::Get().size();
    begin_ = AddScratch(preparation, Size() * (ranks_ + 1));
  }

 private:
  // The numbers that a rank sends: the elements of a channel, then the mean of
  // each channel, then the sum of squared distances to it for each channel.
  int64_t Size() const { return 1 + 2 * this->dims().channels; }

  // Combines the moments of all ranks in their order (T. Chan, G. Golub and R.
  // LeVeque, "Updating formulae and a pairwise algorithm for computing sample
  // variances", 1979).
  int64_t Moments(OpKernelContext& context,
                  double* means,
                  double* variances,
                  double* inverses) const override {
    const int64_t channels = this->dims().channels;
    BatchNormKernel<T>::Moments(context, means, variances, inverses);
    double* own = static_cast<double*>(context.scratch()) + begin_;
    double* all = own + Size();
    own[0] = static_cast<double>(this->dims().count());
    for (int64_t c = 0; c < channels; ++c) {
      own[1 + c] = means[c];
      own[1 + channels + c] = variances[c] * own[0];
    }
    Exchange(context, CollectiveKind::kAllGather, own, all, Size());
    double count = 0;
    std::fill_n(means, channels, 0.0);
    std::fill_n(variances, channels, 0.0);
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const double* next = all + rank * Size();
      const double added = next[0];
      if (added == 0) continue;
      const double sum = count + added;
      for (int64_t c = 0; c < channels; ++c) {
        const double distance = next[1 + c] - means[c];
        const double shift = count == 0 ? distance : distance * (added / sum);
        variances[c] += next[1 + channels + c];
        if (count > 0) variances[c] += distance * shift * count;
        means[c] += shift;
      }
      count = sum;
    }
    for (int64_t c = 0; c < channels; ++c) {
      variances[c] /= std::max(count, 1.0);
      inverses[c] = 1 / std::sqrt(variances[c] + this->epsilon());
    }
    return static_cast<int64_t>(count);
  }

  int64_t ranks_ = 1;
  size_t begin_ = 0;  // offset of these numbers in scratch, in doubles
};

template <typename T>
class SyncBatchNormGradKernel final : public BatchNormGradKernel<T> {
 public:
  using BatchNormGradKernel<T>::BatchNormGradKernel;

  void Prepare(KernelPreparation& preparation) override {
    BatchNormGradKernel<T>::Prepare(preparation);
    AddScratch(preparation, 1);
  }

 private:
  int64_t AllCount(OpKernelContext& context, double* sums) const override {
    const int64_t size = kBatchNormGradSums * this->dims().channels;
    sums[size] = static_cast<double>(this->dims().count());
    Exchange(context, CollectiveKind::kAllReduce, sums, sums, size + 1);
    return static_cast<int64_t>(sums[size]);
  }
};

struct ExchangesSums {
  static void Change(KernelTraits& traits) {
    traits.Exchange(Exchanges::kSums, &NewCollectiveContext);
  }
};

}  // namespace

REGISTER_TABLE(sync_batch_norm, AddSyncBatchNorm);
REGISTER_OP_CPU_KERNEL(sync_batch_norm,
                       ExchangesSums,
                       SyncBatchNormKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(sync_batch_norm_grad,
                       ExchangesSums,
                       SyncBatchNormGradKernel<FloatTypes>);

}  // namespace sluice
