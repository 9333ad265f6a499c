#include <algorithm>

#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/norm/batch_norm.h"
#include "sluice/operators/norm/far_moments.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// The elements of each channel, in runs of `run` elements.
struct Channels {
  int64_t channels = 0;
  int64_t run = 1;
  int64_t count = 0;  // per channel

  Channels() = default;
  Channels(const DDim& x, bool nchw) {
    channels = x[nchw ? 1 : x.rank() - 1];
    run = nchw ? x.Product(2, x.rank()) : 1;
    count = x[0] * x.Product(nchw ? 2 : 1, nchw ? x.rank() : x.rank() - 1);
  }

  SumPlan Plan() const { return {channels, count}; }
  // The scratch for two numbers a channel and for the sums.
  size_t scratch_bytes() const {
    return 2 * sizeof(double) * static_cast<size_t>(channels) +
           Plan().scratch_bytes();
  }

  __device__ int64_t Of(int64_t element) const {
    return element / run % channels;
  }
  __device__ int64_t At(int64_t channel, int64_t i) const {
    return (i / run * channels + channel) * run + i % run;
  }
};

bool IsNCHW(const OpKernelConstruction& construction) {
  return construction.Attr<std::string>("data_format") == "NCHW";
}

// One of the two running statistics. `after` may be null.
template <typename T>
struct Running {
  const T* before;
  T* after;

  __device__ void Update(int64_t c, double keep, double batch) const {
    if (after == nullptr) return;
    // With keep == 1, 0 times an infinite batch statistic would be NaN.
    after[c] = keep == 1
                   ? before[c]
                   : static_cast<T>(keep * before[c] + (1 - keep) * batch);
  }
};

template <typename T>
class BatchNormCUDAKernel final : public OpKernel {
 public:
  explicit BatchNormCUDAKernel(const OpKernelConstruction& construction)
      : nchw_(IsNCHW(construction)),
        is_test_(construction.Attr<bool>("is_test")),
        momentum_(construction.Attr<double>("momentum")),
        epsilon_(construction.Attr<double>("epsilon")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    channels_ = Channels(x_dims_, nchw_);
    preparation.scratch_bytes = channels_.scratch_bytes();
  }

  void Compute(OpKernelContext& context) const override {
    const DDim dims{channels_.channels};
    T* y = context.AllocateOutput("Y", x_dims_).template data<T>();
    T* mean = context.AllocateOutput("SavedMean", dims).template data<T>();
    T* inverse =
        context.AllocateOutput("SavedVariance", dims).template data<T>();
    if (!is_test_) TakeMoments(context);
    Save(context, mean, inverse);
    const T* x = context.Input("X").data<T>();
    const T* scale = context.Input("Scale").data<T>();
    const Channels channels = channels_;
    const auto* biases = static_cast<const double*>(context.scratch());
    ForEach(context.device_context<CUDADeviceContext>(), x_dims_.numel(),
            [=] __device__(int64_t i) {
              const int64_t c = channels.Of(i);
              // The difference is halved, as x - mean may overflow.
              const T half = T{0.5} * x[i] - T{0.5} * mean[c];
              y[i] = half * (2 * inverse[c]) * scale[c] +
                     static_cast<T>(biases[c]);
            });
  }

  // Writes mean and variance of the batch to the scratch.
  void TakeMoments(OpKernelContext& context) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    const T* x = context.Input("X").data<T>();
    const Channels channels = channels_;
    auto* means = static_cast<double*>(context.scratch());
    double* variances = means + channels.channels;
    double* partial = variances + channels.channels;
    const double share =
        1 / static_cast<double>(std::max<int64_t>(channels.count, 1));
    Sum(
        device, channels.Plan(), partial,
        [=] __device__(int64_t c, int64_t i) -> double {
          return x[channels.At(c, i)];
        },
        StoreSum<double>{means, share});
    Sum(
        device, channels.Plan(), partial,
        [=] __device__(int64_t c, int64_t i) -> double {
          const double distance = x[channels.At(c, i)] - means[c];
          return distance * distance;
        },
        StoreSum<double>{variances, share});
  }

  // Writes mean, inverse, the running statistics and, to scratch, the biases.
  void Save(OpKernelContext& context, T* mean, T* inverse) const {
    const Running<T> means = Find(context, "Mean", "MeanOut");
    const Running<T> variances = Find(context, "Variance", "VarianceOut");
    auto* moments = static_cast<double*>(context.scratch());
    const double keep = is_test_ || channels_.count == 0 ? 1 : momentum_;
    const double epsilon = epsilon_;
    const bool is_test = is_test_;
    const T* scale = context.Input("Scale").data<T>();
    const T* bias = context.Input("Bias").data<T>();
    const T* x = context.Input("X").data<T>();
    const Channels channels = channels_;
    ForEach(context.device_context<CUDADeviceContext>(), channels.channels,
            [=] __device__(int64_t c) {
              ScaledMoments own;
              if (is_test) {
                own = {means.before[c], variances.before[c]};
              } else {
                own = MomentsInRange<T>(
                    {moments[c], moments[channels.channels + c]}, epsilon, true,
                    channels.count,
                    [=](int64_t i) { return double{x[channels.At(c, i)]}; });
              }
              mean[c] = static_cast<T>(own.Mean());
              inverse[c] =
                  static_cast<T>(own.shrink / sqrt(own.Square(epsilon)));
              moments[c] =
                  BiasOfRoundedMean(own.Mean(), inverse[c], scale[c], bias[c]);
              means.Update(c, keep, own.Mean());
              variances.Update(c, keep, own.Variance());
            });
  }

 private:
  Running<T> Find(OpKernelContext& context,
                  const char* input,
                  const char* output) const {
    const DDim dims{channels_.channels};
    return {context.Input(input).data<T>(),
            context.HasOutput(output)
                ? context.AllocateOutput(output, dims).template data<T>()
                : nullptr};
  }

  bool nchw_;
  bool is_test_;
  double momentum_;
  double epsilon_;
  DDim x_dims_;
  Channels channels_;
};

// Computes the two gradients of channel c from the sums of y_grad and of y_grad
// * (x - mean). Then replaces the sums by the coefficients of x_grad = a y_grad
// + scale_sum (x - mean) inverse + bias_sum. `keep` is 1 / count.
template <typename T>
__device__ void FinishChannel(const BatchNormGradArgs<T>& args,
                              const Channels& channels,
                              int64_t c,
                              double keep,
                              double* bias_sum,
                              double* scale_sum) {
  const double inverse = args.inverse_std[c];
  const double a = inverse * args.scale[c];
  double scale_grad = 0;
  if (args.y_grad != nullptr) {
    scale_grad = SumInRange<T>(
        *scale_sum * inverse, args.mean[c], inverse, channels.count,
        [&](int64_t i) { return double{args.y_grad[channels.At(c, i)]}; },
        [&](int64_t i) { return double{args.x[channels.At(c, i)]}; });
  }
  if (args.bias_grad != nullptr) args.bias_grad[c] = static_cast<T>(*bias_sum);
  if (args.scale_grad != nullptr) {
    args.scale_grad[c] = static_cast<T>(scale_grad);
  }
  const double mean_grad = args.mean_grad == nullptr ? 0 : args.mean_grad[c];
  const double inverse_grad =
      args.inverse_std_grad == nullptr ? 0 : args.inverse_std_grad[c];
  *bias_sum = keep * (mean_grad - a * *bias_sum);
  *scale_sum = -keep * (a * scale_grad + inverse_grad * inverse * inverse);
}

template <typename T>
class BatchNormGradCUDAKernel final : public OpKernel {
 public:
  explicit BatchNormGradCUDAKernel(const OpKernelConstruction& construction)
      : nchw_(IsNCHW(construction)),
        is_test_(construction.Attr<bool>("is_test")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    channels_ = Channels(x_dims_, nchw_);
    preparation.scratch_bytes = channels_.scratch_bytes();
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const BatchNormGradArgs<T> args = Arguments(context);
    const Channels channels = channels_;
    auto* bias_sums = static_cast<double*>(context.scratch());
    double* scale_sums = bias_sums + channels.channels;
    TakeSums(device, args, bias_sums, scale_sums);
    const double keep =
        1 / static_cast<double>(std::max<int64_t>(channels.count, 1));
    ForEach(device, channels.channels, [=] __device__(int64_t c) {
      FinishChannel(args, channels, c, keep, bias_sums + c, scale_sums + c);
    });
    if (args.x_grad == nullptr) return;
    ForEach(device, x_dims_.numel(), [=] __device__(int64_t i) {
      const int64_t c = channels.Of(i);
      const T y_grad = args.y_grad == nullptr ? T{0} : args.y_grad[i];
      if (args.is_test) {
        args.x_grad[i] = args.y_grad == nullptr
                             ? T{0}
                             : args.inverse_std[c] * args.scale[c] * y_grad;
        return;
      }
      const T half = T{0.5} * args.x[i] - T{0.5} * args.mean[c];
      args.x_grad[i] =
          args.inverse_std[c] * args.scale[c] * y_grad +
          half * (2 * args.inverse_std[c]) * static_cast<T>(scale_sums[c]) +
          static_cast<T>(bias_sums[c]);
    });
  }

  void TakeSums(const CUDADeviceContext& device,
                const BatchNormGradArgs<T>& args,
                double* bias_sums,
                double* scale_sums) const {
    const Channels channels = channels_;
    double* partial = scale_sums + channels.channels;
    if (args.y_grad == nullptr) {
      FillZero(device, bias_sums,
               2 * sizeof(double) * static_cast<size_t>(channels.channels));
      return;
    }
    Sum(
        device, channels.Plan(), partial,
        [=] __device__(int64_t c, int64_t i) -> double {
          return args.y_grad[channels.At(c, i)];
        },
        StoreSum<double>{bias_sums});
    Sum(
        device, channels.Plan(), partial,
        [=] __device__(int64_t c, int64_t i) -> double {
          const int64_t at = channels.At(c, i);
          const double distance =
              static_cast<double>(args.x[at]) - args.mean[c];
          return args.y_grad[at] * distance;
        },
        StoreSum<double>{scale_sums});
  }

 private:
  BatchNormGradArgs<T> Arguments(OpKernelContext& context) const {
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    const auto wanted = [&](const char* name, const DDim& dims) -> T* {
      return context.HasOutput(name)
                 ? context.AllocateOutput(name, dims).template data<T>()
                 : nullptr;
    };
    const DDim dims{channels_.channels};
    return {.is_test = is_test_,
            .x = given("X"),
            .scale = given("Scale"),
            .mean = given("SavedMean"),
            .inverse_std = given("SavedVariance"),
            .y_grad = given("Y@GRAD"),
            .mean_grad = given("SavedMean@GRAD"),
            .inverse_std_grad = given("SavedVariance@GRAD"),
            .x_grad = wanted("X@GRAD", x_dims_),
            .scale_grad = wanted("Scale@GRAD", dims),
            .bias_grad = wanted("Bias@GRAD", dims)};
  }

  bool nchw_;
  bool is_test_;
  DDim x_dims_;
  Channels channels_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(batch_norm, BatchNormCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(batch_norm_grad, BatchNormGradCUDAKernel<FloatTypes>);

}  // namespace sluice
