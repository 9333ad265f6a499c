#include <algorithm>

#include "sluice/operators/conversion/widened_kernel.cuh"
#include "sluice/operators/math/device_rows.cuh"
#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/norm/far_moments.h"
#include "sluice/operators/norm/row_norm.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// A device copy of RowNormGeometry.
struct Rows {
  int64_t size, channels, run, groups;
  bool centered;
  double epsilon;

  explicit Rows(const RowNormGeometry& g)
      : size(g.size()),
        channels(g.channels),
        run(g.run),
        groups(g.groups),
        centered(g.centered),
        epsilon(g.epsilon) {}

  // Returns the index of scale and bias for element i of a row.
  __device__ int64_t Parameter(int64_t row, int64_t i) const {
    return row % groups * channels + i / run;
  }

  template <typename Team, typename T>
  __device__ ScaledMoments Moments(const Team& team, const T* x) const {
    double mean = 0;
    for (int64_t i = team.First(); centered && i < size; i += Team::kSize) {
      mean += x[i];
    }
    mean = team.All(mean, SumOf()) / static_cast<double>(size);
    double sum = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      const double distance = x[i] - mean;
      sum += distance * distance;
    }
    const double variance = team.All(sum, SumOf()) / static_cast<double>(size);
    return MomentsInRange<T>({mean, variance}, epsilon, centered, size,
                             [x](int64_t i) { return double{x[i]}; });
  }
};

// Computes (x - mean) * inverse, including the part of the mean that T cannot
// hold. The difference is halved, as x - mean may overflow.
template <typename T>
struct Normal {
  T high, low, inverse;

  __device__ Normal(double mean, double inverse_std)
      : high(static_cast<T>(0.5 * mean)),
        low(static_cast<T>(0.5 * mean - static_cast<double>(high))),
        inverse(static_cast<T>(2 * inverse_std)) {}
  __device__ T Of(T x) const { return (T{0.5} * x - high - low) * inverse; }
};

// Normalizes one row of x to y.
template <typename T, typename Team>
__device__ void NormalizeRow(const Rows& rows,
                             const RowNormArgs<T>& args,
                             const Team& team,
                             int64_t row) {
  const T* x = args.x + row * rows.size;
  T* y = args.y + row * rows.size;
  const ScaledMoments moments = rows.Moments(team, x);
  const double mean = moments.Mean();
  if (team.Leads()) {
    if (args.mean != nullptr) args.mean[row] = static_cast<T>(mean);
    if (args.variance != nullptr) {
      args.variance[row] = static_cast<T>(moments.Variance());
    }
  }
  const Normal<T> normal(mean,
                         moments.shrink / sqrt(moments.Square(rows.epsilon)));
  for (int64_t i = team.First(); i < rows.size; i += Team::kSize) {
    const int64_t p = rows.Parameter(row, i);
    T value = normal.Of(x[i]);
    if (args.scale != nullptr) value *= args.scale[p];
    if (args.bias != nullptr) value += args.bias[p];
    y[i] = value;
  }
}

// Computes a row's moments and the gradient of its x (RowNormGrad).
template <typename T, typename Team>
__device__ void GradRow(const Rows& rows,
                        const RowNormGradArgs<T>& args,
                        double* moments,
                        const Team& team,
                        int64_t row) {
  const int64_t at = row * rows.size;
  const T* x = args.x + at;
  const ScaledMoments own = rows.Moments(team, x);
  const double mean = own.Mean();
  const double inverse = own.shrink / sqrt(own.Square(rows.epsilon));
  if (team.Leads()) {
    moments[2 * row] = mean;
    moments[2 * row + 1] = inverse;
  }
  if (args.x_grad == nullptr) return;
  const auto weight = [=](int64_t i) {
    double w = args.y_grad[at + i];
    if (args.scale != nullptr) w *= args.scale[rows.Parameter(row, i)];
    return w;
  };
  double sum = 0, product = 0;
  for (int64_t i = team.First(); i < rows.size && args.y_grad != nullptr;
       i += Team::kSize) {
    const double w = weight(i);
    sum += w;
    product += w * (x[i] - mean);
  }
  sum = team.All(sum, SumOf());
  product = inverse * team.All(product, SumOf());
  if (args.y_grad == nullptr) {
    product = 0;
  } else {
    product = SumInRange<T>(product, mean, inverse, rows.size, weight,
                            [x](int64_t i) { return double{x[i]}; });
  }
  const double mean_grad =
      args.mean_grad == nullptr ? 0 : static_cast<double>(args.mean_grad[row]);
  const double variance_grad =
      args.variance_grad == nullptr
          ? 0
          : 2 * static_cast<double>(args.variance_grad[row]) / inverse;
  const auto count = static_cast<double>(rows.size);
  const T slope = static_cast<T>((variance_grad - inverse * product) / count);
  const T rest =
      static_cast<T>(rows.centered ? (mean_grad - inverse * sum) / count : 0);
  const T factor = static_cast<T>(inverse);
  const Normal<T> normal(mean, inverse);
  for (int64_t i = team.First(); i < rows.size; i += Team::kSize) {
    // The product of both factors may exceed the range of T.
    T grad = normal.Of(x[i]) * slope + rest;
    if (args.y_grad != nullptr) {
      T w = args.y_grad[at + i];
      if (args.scale != nullptr) w *= args.scale[rows.Parameter(row, i)];
      grad = w * factor + grad;
    }
    args.x_grad[at + i] = grad;
  }
}

// Term j of the sum for parameter p: an element of y_grad, alone or times the
// normalized x.
template <typename T>
struct ParameterTerm {
  Rows rows;
  const T* x;
  const T* y_grad;
  const double* moments;
  bool times_x;

  __device__ double operator()(int64_t p, int64_t j) const {
    if (y_grad == nullptr) return 0;
    const int64_t row = p / rows.channels + j / rows.run * rows.groups;
    const int64_t at =
        row * rows.size + p % rows.channels * rows.run + j % rows.run;
    const double grad = y_grad[at];
    if (!times_x) return grad;
    // The difference is halved, as x - mean may overflow.
    return grad * ((0.5 * x[at] - 0.5 * moments[2 * row]) *
                   (2 * moments[2 * row + 1]));
  }
};

template <typename T, typename Norm>
class RowNormCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    moment_dims_ = Norm::MomentDims(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).template data<T>()
                                    : nullptr;
    };
    const auto wanted = [&](const char* name) -> T* {
      return context.HasOutput(name)
                 ? context.AllocateOutput(name, moment_dims_).template data<T>()
                 : nullptr;
    };
    const RowNormArgs<T> args = {
        .x = x.data<T>(),
        .scale = given("Scale"),
        .bias = given("Bias"),
        .y = context.AllocateOutput(0, x.dims()).template data<T>(),
        .mean = wanted("Mean"),
        .variance = wanted("Variance")};
    const bool moments = args.mean != nullptr || args.variance != nullptr;
    if (geometry_.size() == 0 && !moments) return;
    const Rows rows(geometry_);
    ForEachRow(context.device_context<CUDADeviceContext>(), geometry_.rows,
               rows.size, [=] __device__(auto team, int64_t row) {
                 NormalizeRow(rows, args, team, row);
               });
  }

 private:
  RowNormGeometry geometry_;
  DDim moment_dims_;
};

template <typename T, typename Norm>
class RowNormGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    const int64_t groups = std::max<int64_t>(geometry_.groups, 1);
    plan_ = SumPlan(geometry_.parameters(),
                    geometry_.rows / groups * geometry_.run);
    preparation.scratch_bytes =
        sizeof(double) * static_cast<size_t>(geometry_.moment_count()) +
        plan_.scratch_bytes();
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const RowNormGradArgs<T> args = Arguments(context);
    auto* const moments = static_cast<double*>(context.scratch());
    const Rows rows(geometry_);
    // If there are no elements, all sums are 0.
    if (geometry_.size() > 0) {
      ForEachRow(device, geometry_.rows, rows.size,
                 [=] __device__(auto team, int64_t row) {
                   GradRow(rows, args, moments, team, row);
                 });
    }
    double* const partial = moments + geometry_.moment_count();
    for (const bool times_x : {true, false}) {
      T* const to = times_x ? args.scale_grad : args.bias_grad;
      if (to == nullptr) continue;
      Sum(device, plan_, partial,
          ParameterTerm<T>{rows, args.x, args.y_grad, moments, times_x},
          StoreSum<T>{to});
    }
  }

 private:
  RowNormGradArgs<T> Arguments(OpKernelContext& context) const {
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).template data<T>()
                                    : nullptr;
    };
    const auto wanted = [&](const char* name, const char* of) -> T* {
      if (!context.HasOutput(name)) return nullptr;
      const DDim dims = context.HasInput(of) ? context.Input(of).dims()
                                             : DDim{geometry_.parameters()};
      return context.AllocateOutput(name, dims).template data<T>();
    };
    return {.x = given("X"),
            .scale = given("Scale"),
            .y_grad = given("Y@GRAD"),
            .mean_grad = given("Mean@GRAD"),
            .variance_grad = given("Variance@GRAD"),
            .x_grad = wanted("X@GRAD", "X"),
            .scale_grad = wanted("Scale@GRAD", "Scale"),
            .bias_grad = wanted("Bias@GRAD", "Bias")};
  }

  RowNormGeometry geometry_;
  SumPlan plan_;
};

template <typename Norm>
void AddKernels(Registry& registry, const std::string& op) {
  const CUDAPlace cuda;
  AddPlainKernels<RowNormCUDAKernel<FloatsAndDeviceHalves, Norm>>(registry, op,
                                                                  cuda);
  AddPlainKernels<RowNormGradCUDAKernel<FloatsAndDeviceHalves, Norm>>(
      registry, op + "_grad", cuda);
}

void AddRowNormKernels(Registry& registry) {
  AddKernels<LayerNorm>(registry, "layer_norm");
  AddKernels<RmsNorm>(registry, "rms_norm");
  AddKernels<InstanceNorm>(registry, "instance_norm");
  AddKernels<GroupNorm>(registry, "group_norm");
}

}  // namespace

REGISTER_TABLE(cuda_row_norms, AddRowNormKernels);

}  // namespace sluice
