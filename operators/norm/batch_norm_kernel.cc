#include <cmath>
#include <string>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/norm/batch_norm.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

math::BatchNormDims DimsOf(const DDim& x, bool nchw) {
  const int rank = x.rank();
  const int first = nchw ? 2 : 1;
  return {x[0], x[nchw ? 1 : rank - 1],
          x.Product(first, nchw ? rank : rank - 1), !nchw};
}

bool IsNCHW(const OpKernelConstruction& construction) {
  return construction.Attr<std::string>("data_format") == "NCHW";
}

template <typename T>
class BatchNormKernel final : public OpKernel {
 public:
  explicit BatchNormKernel(const OpKernelConstruction& construction)
      : nchw_(IsNCHW(construction)),
        is_test_(construction.Attr<bool>("is_test")),
        momentum_(construction.Attr<double>("momentum")),
        epsilon_(construction.Attr<double>("epsilon")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], nchw_);
    // Means and variances in double, and biases.
    preparation.scratch_bytes =
        (2 * sizeof(double) + sizeof(T)) * static_cast<size_t>(dims_.channels);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const DDim channels{dims_.channels};
    Tensor& y = context.AllocateOutput("Y", x.dims());
    Tensor& mean = context.AllocateOutput("SavedMean", channels);
    Tensor& inverse_std = context.AllocateOutput("SavedVariance", channels);
    auto* means = static_cast<double*>(context.scratch());
    double* variances = means + dims_.channels;
    if (!is_test_) {
      math::BatchMoments(dims_, x.data<T>(), means, variances);
    } else {
      const T* given = context.Input("Mean").data<T>();
      const T* given_variance = context.Input("Variance").data<T>();
      for (int64_t c = 0; c < dims_.channels; ++c) {
        means[c] = given[c];
        variances[c] = given_variance[c];
      }
    }
    const T* scale = context.Input("Scale").data<T>();
    const T* bias = context.Input("Bias").data<T>();
    T* biases = reinterpret_cast<T*>(variances + dims_.channels);
    for (int64_t c = 0; c < dims_.channels; ++c) {
      const T inverse = static_cast<T>(1 / std::sqrt(variances[c] + epsilon_));
      mean.data<T>()[c] = static_cast<T>(means[c]);
      inverse_std.data<T>()[c] = inverse;
      biases[c] = math::BiasOfRoundedMean(means[c], inverse, scale[c], bias[c]);
    }
    math::Normalize(dims_, x.data<T>(), mean.data<T>(), inverse_std.data<T>(),
                    scale, biases, y.data<T>());
    Run(context, "Mean", "MeanOut", means);
    Run(context, "Variance", "VarianceOut", variances);
  }

 private:
  // The running statistic, with that of this batch.
  void Run(OpKernelContext& context,
           const char* input,
           const char* output,
           const double* batch) const {
    if (!context.HasOutput(output)) return;
    const T* before = context.Input(input).data<T>();
    T* after = context.AllocateOutput(output, {dims_.channels}).data<T>();
    const double keep = is_test_ || dims_.count() == 0 ? 1 : momentum_;
    for (int64_t c = 0; c < dims_.channels; ++c) {
      // 0 times an infinite statistic would be NaN.
      after[c] = keep == 1
                     ? before[c]
                     : static_cast<T>(keep * before[c] + (1 - keep) * batch[c]);
    }
  }

  bool nchw_;
  bool is_test_;
  double momentum_;
  double epsilon_;
  math::BatchNormDims dims_;
};

template <typename T>
class BatchNormGradKernel final : public OpKernel {
 public:
  explicit BatchNormGradKernel(const OpKernelConstruction& construction)
      : nchw_(IsNCHW(construction)),
        is_test_(construction.Attr<bool>("is_test")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], nchw_);
    preparation.scratch_bytes =
        2 * sizeof(double) * static_cast<size_t>(dims_.channels);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    const auto wanted = [&](const char* name, const DDim& dims) -> T* {
      return context.HasOutput(name)
                 ? context.AllocateOutput(name, dims).data<T>()
                 : nullptr;
    };
    const DDim channels{dims_.channels};
    math::BatchNormGrad<T>(
        dims_,
        {.is_test = is_test_,
         .x = x.data<T>(),
         .scale = context.Input("Scale").data<T>(),
         .mean = context.Input("SavedMean").data<T>(),
         .inverse_std = context.Input("SavedVariance").data<T>(),
         .y_grad = given("Y@GRAD"),
         .mean_grad = given("SavedMean@GRAD"),
         .inverse_std_grad = given("SavedVariance@GRAD"),
         .x_grad = wanted("X@GRAD", x.dims()),
         .scale_grad = wanted("Scale@GRAD", channels),
         .bias_grad = wanted("Bias@GRAD", channels)},
        static_cast<double*>(context.scratch()));
  }

 private:
  bool nchw_;
  bool is_test_;
  math::BatchNormDims dims_;
};

// Channels that are the last take a load of each factor for each element; sums
// are made in double.
framework::KernelWork Work(const framework::KernelQuery& query) {
  const auto elements = static_cast<double>(query.inputs[0].numel());
  framework::KernelWork work = framework::DefaultKernelWork(query);
  if (query.Attr<std::string>("data_format") == "NHWC") {
    work.moves = 0.4 * elements;
  }
  if (!query.Attr<bool>("is_test")) {
    work.moves += 2.5 * elements;
    work.parallel_loops = 3;
  }
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(batch_norm,
                   PLAIN,
                   CPUPlace,
                   plain,
                   framework::KernelTraits().Estimate(&Work),
                   BatchNormKernel<float>,
                   BatchNormKernel<double>);
REGISTER_OP_CPU_KERNEL(batch_norm_grad,
                       BatchNormGradKernel<float>,
                       BatchNormGradKernel<double>);

}  // namespace sluice::operators
