#include "sluice/operators/math/device_rows.cuh"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/device_embedding_mask.cuh"
#include "sluice/operators/sequence/discriminative_loss_kernel.h"

namespace sluice {
namespace {

constexpr char kDiscriminative[] = "discriminative_loss";
constexpr char kDiscriminativeGrad[] = "discriminative_loss_grad";

// Computes the sums of discriminative_loss_kernel.cc. Kernels receive it
// by value.
template <typename T>
struct DeviceDiscriminativeLoss {
  DeviceMasks masks;
  DiscriminativeLossParams p;
  const T* embedding;
  double* counts;      // [B, M]
  double* terms;       // [B, M]
  double* means;       // [B, M, N]
  double* mean_grads;  // [B, M, N]

  __device__ const double* MeanOf(int64_t m) const {
    return means + m * masks.features;
  }
  template <typename A>
  __device__ double Distance(const A* a, const double* b) const {
    double sum = 0;
    for (int64_t f = 0; f < masks.features; ++f) {
      const double difference = static_cast<double>(a[f]) - b[f];
      sum += difference * difference;
    }
    return sqrt(sum);
  }
  __device__ double Norm(const double* a) const {
    double sum = 0;
    for (int64_t f = 0; f < masks.features; ++f) {
      sum += a[f] * a[f];
    }
    return sqrt(sum);
  }
  // Returns the factor of a pixel's own gradient; terms[m] is the mask's.
  __device__ double Pull(int64_t m, double distance) const {
    const double over = DiscriminativeHinge(distance - p.delta_v);
    return over == 0 ? 0 : terms[m] * (over / distance);
  }
  __device__ int64_t FirstBeside(int64_t m) const {
    return m / masks.masks * masks.masks;
  }
  __device__ double MasksBeside(int64_t m) const {
    const int64_t first = FirstBeside(m);
    double some = 0;
    for (int64_t other = first; other < first + masks.masks; ++other) {
      some += counts[other] != 0 ? 1 : 0;
    }
    return some;
  }
  // Calls visit(pixel) for this thread's share of the pixels of mask m.
  template <typename Team, typename Visit>
  __device__ void ForEachPixel(const Team& team,
                               int64_t m,
                               const Visit& visit) const {
    for (int64_t column = 0; column < masks.x; ++column) {
      const auto run = masks.RunOf(m, column);
      const int64_t first = masks.ColumnOf(m, column);
      for (int64_t row = run.start + team.First(); row < run.end;
           row += Team::kSize) {
        visit(embedding + (first + row) * masks.features);
      }
    }
  }
  // Calls visit(other, distance) for each other non-empty mask of the image.
  template <typename Visit>
  __device__ void ForEachOther(int64_t m, const Visit& visit) const {
    const int64_t first = FirstBeside(m);
    for (int64_t other = first; other < first + masks.masks; ++other) {
      if (other == m || counts[other] == 0) continue;
      visit(MeanOf(other), Distance(MeanOf(other), MeanOf(m)));
    }
  }

  template <typename Team>
  __device__ void FindTerm(const Team& team, int64_t m) const {
    double variance = 0;
    ForEachPixel(team, m, [&](const T* x) {
      const double over =
          DiscriminativeHinge(Distance(x, MeanOf(m)) - p.delta_v);
      variance += over * over;
    });
    variance = team.All(variance, SumOf());
    if (!team.Leads()) return;
    terms[m] = 0;
    if (counts[m] == 0) return;
    double distance = 0;
    ForEachOther(m, [&](const double* /*other*/, double apart) {
      const double missing = DiscriminativeHinge(2 * p.delta_d - apart);
      distance += missing * missing;
    });
    const double beside = MasksBeside(m);
    terms[m] = p.variance_weight * variance / counts[m] / beside +
               p.distance_weight * distance * DiscriminativePairShare(beside) +
               p.regularization_weight * Norm(MeanOf(m)) / beside;
  }

  // Computes one feature of the gradient by a mean, divided by the pixels.
  __device__ void FindMeanGradient(int64_t at) const {
    const int64_t m = at / masks.features, f = at % masks.features;
    if (counts[m] == 0) return;
    const double mean = means[at], beside = MasksBeside(m);
    double grad = 0;
    ForEachPixel(RowTeam<false>(), m, [&](const T* x) {
      const double pull = Pull(m, Distance(x, MeanOf(m)));
      grad -= pull * (static_cast<double>(x[f]) - mean);
    });
    const double share =
        4 * p.distance_weight * DiscriminativePairShare(beside);
    ForEachOther(m, [&](const double* other, double apart) {
      const double missing = DiscriminativeHinge(2 * p.delta_d - apart);
      if (apart != 0) grad += share * missing / apart * (other[f] - mean);
    });
    const double norm = Norm(MeanOf(m));
    if (norm != 0) grad += p.regularization_weight / beside * mean / norm;
    mean_grads[at] = grad / counts[m];
  }

  __device__ void FindPixel(int64_t pixel, const T* loss_grad, T* to) const {
    const int64_t features = masks.features, row = pixel % masks.y;
    const int64_t column = pixel / masks.y % masks.x;
    const int64_t image = pixel / masks.y / masks.x;
    const T* x = embedding + pixel * features;
    for (int64_t f = 0; f < features; ++f) {
      to[pixel * features + f] = 0;
    }
    for (int64_t m = image * masks.masks; m < (image + 1) * masks.masks; ++m) {
      const auto run = masks.RunOf(m, column);
      if (row < run.start || row >= run.end) continue;
      const double* mean = MeanOf(m);
      const double pull = Pull(m, Distance(x, mean));
      for (int64_t f = 0; f < features; ++f) {
        const double grad = pull * (static_cast<double>(x[f]) - mean[f]) +
                            mean_grads[m * features + f];
        to[pixel * features + f] +=
            static_cast<T>(static_cast<double>(loss_grad[image]) * grad);
      }
    }
  }
};

template <typename T, bool kGradient>
class DiscriminativeLossCUDAKernelOf : public OpKernel {
 public:
  explicit DiscriminativeLossCUDAKernelOf(
      const OpKernelConstruction& construction)
      : params_(DiscriminativeLossParamsOf(construction)) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& image = preparation.query.inputs[0];
    dims_ = preparation.query.outputs[0];
    preparation.scratch_bytes =
        DiscriminativeLossScratch({image[0], image[1], image[2], image[3],
                                   preparation.query.inputs[1][1]});
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DeviceMasks masks(context);
    auto* scratch = static_cast<double*>(context.scratch());
    const int64_t count = masks.count(), features = masks.features;
    const DeviceDiscriminativeLoss<T> work{
        masks,
        params_,
        static_cast<const T*>(context.Input("Embedding").raw_data()),
        scratch,
        scratch + count,
        scratch + 2 * count,
        scratch + (2 + features) * count};
    T* out = static_cast<T*>(context.AllocateOutput(0, dims_).raw_data());
    masks.Check(device, kGradient ? &RaiseEmbeddingRun<kDiscriminativeGrad>
                                  : &RaiseEmbeddingRun<kDiscriminative>);
    ForEach(device, count, [=] __device__(int64_t m) {
      work.counts[m] = static_cast<double>(masks.PixelsOf(m));
    });
    ForEach(device, count * features, [=] __device__(int64_t at) {
      const int64_t m = at / features;
      const auto pixels = static_cast<int64_t>(work.counts[m]);
      work.means[at] = masks.MeanOf(work.embedding, m, at % features, pixels);
    });
    if constexpr (kGradient) {
      const T* loss_grad =
          static_cast<const T*>(context.Input("Loss@GRAD").raw_data());
      ForEach(device, count, [=] __device__(int64_t m) {
        work.terms[m] =
            2 * work.p.variance_weight / work.MasksBeside(m) / work.counts[m];
      });
      ForEach(device, count * features,
              [=] __device__(int64_t at) { work.FindMeanGradient(at); });
      ForEach(device, masks.batch * masks.x * masks.y,
              [=] __device__(int64_t pixel) {
                work.FindPixel(pixel, loss_grad, out);
              });
    } else {
      ForEachRow(
          device, count, masks.x * masks.y,
          [=] __device__(auto team, int64_t m) { work.FindTerm(team, m); });
      ForEach(device, masks.batch, [=] __device__(int64_t image) {
        double loss = 0;
        for (int64_t m = 0; m < masks.masks; ++m) {
          loss += work.terms[image * masks.masks + m];
        }
        out[image] = static_cast<T>(loss);
      });
    }
  }

 private:
  const DiscriminativeLossParams params_;
  DDim dims_;
};

template <typename T>
class DiscriminativeLossCUDAKernel final
    : public DiscriminativeLossCUDAKernelOf<T, false> {
  using DiscriminativeLossCUDAKernelOf<T,
                                       false>::DiscriminativeLossCUDAKernelOf;
};
template <typename T>
class DiscriminativeLossGradCUDAKernel final
    : public DiscriminativeLossCUDAKernelOf<T, true> {
  using DiscriminativeLossCUDAKernelOf<T, true>::DiscriminativeLossCUDAKernelOf;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(discriminative_loss,
                        DiscriminativeLossCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(discriminative_loss_grad,
                        DiscriminativeLossGradCUDAKernel<FloatTypes>);

}  // namespace sluice
