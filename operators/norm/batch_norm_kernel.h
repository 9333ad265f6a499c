#pragma once

#include <cmath>

#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/norm/batch_norm.h"
#include "sluice/operators/registration.h"

// The kernels of batch_norm and of its fused forms. sync_batch_norm overrides
// parts of them.
namespace sluice {

// Without elements there is no image, whatever dim 0 is.
inline BatchNormDims DimsOfBatch(const DDim& x, bool nchw) {
  const int rank = x.rank();
  const int first = nchw ? 2 : 1;
  const int64_t channels = x[nchw ? 1 : rank - 1];
  if (x.numel() == 0) return {0, channels, 0, !nchw};
  return {x[0], channels, x.Product(first, nchw ? rank : rank - 1), !nchw};
}

inline bool IsNCHW(const OpKernelConstruction& construction) {
  return construction.Attr<std::string>("data_format") == "NCHW";
}

template <typename T>
class BatchNormKernel : public OpKernel {
 public:
  explicit BatchNormKernel(const OpKernelConstruction& construction)
      : nchw_(IsNCHW(construction)),
        is_test_(construction.Attr<bool>("is_test")),
        momentum_(construction.Attr<double>("momentum")),
        epsilon_(construction.Attr<double>("epsilon")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOfBatch(preparation.query.inputs[0], nchw_);
    if (!StepsOf(preparation.query.op).empty()) {
      chain_ = ReadChain<T>(preparation.query);
      first_operand_ = preparation.query.inputs.size() - chain_.operands();
    }
    // Holds means, variances and inverse deviations in double, and biases.
    preparation.scratch_bytes =
        (3 * sizeof(double) + sizeof(T)) * static_cast<size_t>(dims_.channels);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const DDim channels{dims_.channels};
    Tensor& y = context.AllocateOutput("Y", x.dims());
    Tensor& mean = context.AllocateOutput("SavedMean", channels);
    Tensor& inverse_std = context.AllocateOutput("SavedVariance", channels);
    auto* means = static_cast<double*>(context.scratch());
    double* variances = means + dims_.channels;
    double* inverses = variances + dims_.channels;
    int64_t count = 0;
    if (!is_test_) {
      count = Moments(context, means, variances, inverses);
    } else {
      const T* given = context.Input("Mean").data<T>();
      const T* given_variance = context.Input("Variance").data<T>();
      for (int64_t c = 0; c < dims_.channels; ++c) {
        means[c] = given[c];
        variances[c] = given_variance[c];
        inverses[c] = 1 / std::sqrt(variances[c] + epsilon_);
      }
    }
    const T* scale = context.Input("Scale").data<T>();
    const T* bias = context.Input("Bias").data<T>();
    T* biases = reinterpret_cast<T*>(inverses + dims_.channels);
    for (int64_t c = 0; c < dims_.channels; ++c) {
      const T inverse = static_cast<T>(inverses[c]);
      mean.data<T>()[c] = static_cast<T>(means[c]);
      inverse_std.data<T>()[c] = inverse;
      biases[c] = BiasOfRoundedMean(means[c], inverse, scale[c], bias[c]);
    }
    const auto operands =
        ChainOperandsOf<T>(context, first_operand_, chain_.operands());
    Normalize(dims_, x.data<T>(), mean.data<T>(), inverse_std.data<T>(), scale,
              biases, y.data<T>(),
              {chain_.empty() ? nullptr : &chain_, operands});
    Run(context, "Mean", "MeanOut", means, count);
    Run(context, "Variance", "VarianceOut", variances, count);
  }

 protected:
  // Computes the batch's moments by channel. Returns the elements of a channel.
  virtual int64_t Moments(OpKernelContext& context,
                          double* means,
                          double* variances,
                          double* inverses) const {
    BatchMoments(dims_, context.Input("X").data<T>(), epsilon_, means,
                 variances, inverses);
    return dims_.count();
  }

  const BatchNormDims& dims() const { return dims_; }
  double epsilon() const { return epsilon_; }

 private:
  // Updates a running statistic by that of the batch of `count` elements.
  void Run(OpKernelContext& context,
           const char* input,
           const char* output,
           const double* batch,
           int64_t count) const {
    if (!context.HasOutput(output)) return;
    const T* before = context.Input(input).data<T>();
    T* after = context.AllocateOutput(output, {dims_.channels}).data<T>();
    const double keep = is_test_ || count == 0 ? 1 : momentum_;
    for (int64_t c = 0; c < dims_.channels; ++c) {
      // With keep == 1, 0 times an infinite batch statistic would be NaN.
      after[c] = keep == 1
                     ? before[c]
                     : static_cast<T>(keep * before[c] + (1 - keep) * batch[c]);
    }
  }

  bool nchw_;
  bool is_test_;
  double momentum_;
  double epsilon_;
  BatchNormDims dims_;
  Chain<T> chain_;
  size_t first_operand_ = 0;
};

template <typename T>
class BatchNormGradKernel : public OpKernel {
 public:
  explicit BatchNormGradKernel(const OpKernelConstruction& construction)
      : nchw_(IsNCHW(construction)),
        is_test_(construction.Attr<bool>("is_test")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOfBatch(preparation.query.inputs[0], nchw_);
    preparation.scratch_bytes = kBatchNormGradSums * sizeof(double) *
                                static_cast<size_t>(dims_.channels);
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
    BatchNormGradArgs<T> args = {
        .is_test = is_test_,
        .x = x.data<T>(),
        .scale = context.Input("Scale").data<T>(),
        .mean = context.Input("SavedMean").data<T>(),
        .inverse_std = context.Input("SavedVariance").data<T>(),
        .y_grad = given("Y@GRAD"),
        .mean_grad = given("SavedMean@GRAD"),
        .inverse_std_grad = given("SavedVariance@GRAD"),
        .x_grad = wanted("X@GRAD", x.dims()),
        .scale_grad = wanted("Scale@GRAD", channels),
        .bias_grad = wanted("Bias@GRAD", channels)};
    if (context.HasInput("Out")) {
      T* residual = wanted("Residual@GRAD", x.dims());
      T* y_grad = residual == nullptr ? args.x_grad : residual;
      ReluGrad(dims_, given("Out"), args.y_grad, y_grad);
      args.y_grad = y_grad;
    }
    auto* sums = static_cast<double*>(context.scratch());
    BatchNormGradSums(dims_, args, sums);
    if (args.x_grad == nullptr) return;
    const int64_t count = is_test_ ? dims_.count() : AllCount(context, sums);
    BatchNormInputGrad(dims_, args, count, sums);
  }

 protected:
  // Returns the number of elements of a channel that `sums` cover.
  virtual int64_t AllCount(OpKernelContext& /*context*/,
                           double* /*sums*/) const {
    return dims_.count();
  }

  const BatchNormDims& dims() const { return dims_; }

 private:
  bool nchw_;
  bool is_test_;
  BatchNormDims dims_;
};

}  // namespace sluice
