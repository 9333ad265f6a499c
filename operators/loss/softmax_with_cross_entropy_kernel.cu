#include <limits>

#include "sluice/operators/conversion/widened_kernel.cuh"
#include "sluice/operators/loss/loss_axis.h"
#include "sluice/operators/math/device_softmax.cuh"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/data_check.h"

namespace sluice {
namespace {

void RaiseLabel(int64_t row, int64_t value, int64_t classes) {
  Raise(ErrorCode::kOutOfRange,
        "softmax_with_cross_entropy.label_range_on_device",
        "softmax_with_cross_entropy: input Label has {} in row {}; "
        "expected a class, 0 to {}, or ignore_index",
        value, row, classes - 1);
}

// The labels of [rows, size] logits: either `index` or `weights`.
template <typename T>
struct DeviceLabels {
  DataCheck check;
  const int64_t* index = nullptr;
  int64_t ignored = -1;
  const T* weights = nullptr;

  // Returns false for a row that is ignored or whose label is no class.
  __device__ bool Counts(int64_t row) const {
    if (weights != nullptr) return true;
    return index[row] != ignored && check.Inside(row, index[row]);
  }
};

class LabelReader {
 public:
  explicit LabelReader(const OpKernelConstruction& construction)
      : soft_(construction.Attr<bool>("soft_label")),
        ignored_(construction.Attr<int64_t>("ignore_index")) {}

  template <typename T>
  DeviceLabels<T> Read(const OpKernelContext& context,
                       const Tensor& label,
                       int64_t classes) const {
    const DataCheck check(context.device_context<CUDADeviceContext>(), classes,
                          &RaiseLabel);
    if (soft_) return {check, nullptr, ignored_, label.data<T>()};
    return {check, label.data<int64_t>(), ignored_, nullptr};
  }

 private:
  bool soft_;
  int64_t ignored_;
};

// Returns a row's sum of label * (log_sum - (x - maximum)).
template <typename T, typename Team>
__device__ T LossOfRow(const Team& team,
                       const DeviceLabels<T>& labels,
                       int64_t row,
                       int64_t size,
                       const T* x,
                       const T* softmax,
                       typename SoftmaxRow<T>::Sums sums) {
  if (!labels.Counts(row)) return 0;
  const T rest = SoftmaxRow<T>{size, 1}.SumOfRest(team, softmax);
  const T log_sum =
      SoftmaxRow<T>::LogOfSum(sums.exponentials, sums.exponentials * rest);
  if (labels.weights == nullptr) {
    return log_sum - (x[labels.index[row]] - sums.maximum);
  }
  const T* weights = labels.weights + row * size;
  T sum = 0;
  for (int64_t i = team.First(); i < size; i += Team::kSize) {
    // The difference is halved, as x - maximum may overflow.
    const T part = x[i] / 2 - sums.maximum / 2;
    // A class that is masked by -infinity adds nothing if its label is 0.
    const bool masked =
        weights[i] == 0 && part == -std::numeric_limits<T>::infinity();
    if (!masked) sum += 2 * weights[i] * (log_sum / 2 - part);
  }
  return team.All(sum, SumOf());
}

template <typename T>
class CrossEntropyCUDAKernel final : public OpKernel {
 public:
  explicit CrossEntropyCUDAKernel(const OpKernelConstruction& construction)
      : labels_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    loss_dims_ = preparation.query.outputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& logits = context.Input(0);
    const T* x = logits.data<T>();
    const auto labels =
        labels_.Read<T>(context, context.Input(1), logits.dims().at(-1));
    T* softmax = context.AllocateOutput(0, logits.dims()).template data<T>();
    T* loss = context.AllocateOutput(1, loss_dims_).template data<T>();
    const SoftmaxRow<T> row{logits.dims().at(-1), 1};
    ForEachRow(context.device_context<CUDADeviceContext>(), loss_dims_.numel(),
               row.size, [=] __device__(auto team, int64_t number) {
                 const int64_t at = number * row.size;
                 const auto sums = row.Forward(team, x + at, softmax + at);
                 const T value = LossOfRow(team, labels, number, row.size,
                                           x + at, softmax + at, sums);
                 if (team.Leads()) loss[number] = value;
               });
  }

 private:
  LabelReader labels_;
  DDim loss_dims_;
};

// Adds a row's gradient of the loss, times `grad`, to x_grad.
template <typename T, typename Team>
__device__ void AddGradientOfRow(const Team& team,
                                 const DeviceLabels<T>& labels,
                                 int64_t row,
                                 int64_t size,
                                 const T* softmax,
                                 T grad,
                                 T* x_grad) {
  if (!labels.Counts(row)) return;
  const T rest = SoftmaxRow<T>{size, 1}.SumOfRest(team, softmax);
  if (labels.weights == nullptr) {
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      T change = softmax[i];
      if (labels.index[row] == i) change = change > T{0.5} ? -rest : change - 1;
      x_grad[i] += change * grad;
    }
    return;
  }
  const T* weights = labels.weights + row * size;
  T all = 0, others = 0;
  for (int64_t i = team.First(); i < size; i += Team::kSize) {
    all += weights[i];
    if (!(softmax[i] > T{0.5})) others += weights[i];
  }
  all = team.All(all, SumOf());
  others = team.All(others, SumOf());
  for (int64_t i = team.First(); i < size; i += Team::kSize) {
    const T y = softmax[i];
    const T change =
        y > T{0.5} ? y * others - weights[i] * rest : y * all - weights[i];
    x_grad[i] += change * grad;
  }
}

template <typename T>
class CrossEntropyGradCUDAKernel final : public OpKernel {
 public:
  explicit CrossEntropyGradCUDAKernel(const OpKernelConstruction& construction)
      : labels_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& given = context.Input("Softmax");
    const T* softmax = given.data<T>();
    const auto labels =
        labels_.Read<T>(context, context.Input("Label"), given.dims().at(-1));
    const T* softmax_grad = Find(context, "Softmax@GRAD");
    const T* loss_grad = Find(context, "Loss@GRAD");
    T* x_grad = context.AllocateOutput(0, given.dims()).template data<T>();
    if (given.numel() == 0) return;
    const SoftmaxRow<T> row{given.dims().at(-1), 1};
    ForEachRow(
        context.device_context<CUDADeviceContext>(), given.numel() / row.size,
        row.size, [=] __device__(auto team, int64_t number) {
          const int64_t at = number * row.size;
          if (softmax_grad != nullptr) {
            row.Backward(team, softmax + at, softmax_grad + at, x_grad + at);
          } else {
            row.Clear(team, x_grad + at);
          }
          if (loss_grad == nullptr) return;
          AddGradientOfRow(team, labels, number, row.size, softmax + at,
                           loss_grad[number], x_grad + at);
        });
  }

 private:
  // Returns null if there is no such input: its gradient is 0.
  static const T* Find(const OpKernelContext& context, const char* name) {
    return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
  }

  LabelReader labels_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(softmax_with_cross_entropy,
                        TakenWhen<&HasClassesLast>,
                        CrossEntropyCUDAKernel<FloatsAndDeviceHalves>);
REGISTER_OP_CUDA_KERNEL(softmax_with_cross_entropy_grad,
                        TakenWhen<&HasClassesLast>,
                        CrossEntropyGradCUDAKernel<FloatsAndDeviceHalves>);

}  // namespace sluice
