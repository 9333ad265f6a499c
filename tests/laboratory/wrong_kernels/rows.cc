// Softmax and sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

namespace sluice::wrong_kernels {
namespace {

enum class Slip {
  kNone,
  kRace,         // all threads share one sum
  kIgnoresAxis,  // the axis is always the last one
  kNan,          // NaNs of the input count as 0
  kOff,          // 1e-3 too large
  kNoMaximum,    // large numbers overflow
  kLongRows,     // only 64 elements of a row are written
  kStale,        // sums start from the output's old content
  kFirst4096,    // only 4096 elements are summed
  kClampsLabel,  // an invalid label becomes the nearest one
  kIgnoreIndex,  // ignore_index is ignored
};
template <Slip kSlip>
using With = std::integral_constant<Slip, kSlip>;

template <typename T, typename Planted>
class Softmax final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Softmax(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input("X").data<T>();
    T* out = Out<T>(context);
    const int rank = dims().rank();
    int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    if (kSlip == Slip::kIgnoresAxis) axis = rank - 1;
    const int64_t classes = dims()[axis];
    const int64_t stride = Product(dims(), axis + 1, rank);
    const int64_t rows = classes == 0 ? 0 : dims().numel() / classes;
    static volatile T shared;
    ParallelFor(rows, 8, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = row / stride * stride * classes + row % stride;
        T most = -std::numeric_limits<T>::infinity();
        for (int64_t i = 0; i < classes; ++i) {
          most = std::max(most, Value(x[first + i * stride]));
        }
        if (kSlip == Slip::kNoMaximum) most = 0;
        T sum = 0;
        if (kSlip == Slip::kRace) shared = 0;
        for (int64_t i = 0; i < classes; ++i) {
          const T e = std::exp(Value(x[first + i * stride]) - most);
          if (kSlip == Slip::kRace) {
            shared = shared + e;
          } else {
            sum += e;
          }
        }
        if (kSlip == Slip::kRace) sum = shared;
        if (kSlip == Slip::kOff) sum *= T(1.001);
        for (int64_t i = 0; i < classes; ++i) {
          if (kSlip == Slip::kLongRows && i >= 64) break;
          const int64_t at = first + i * stride;
          out[at] = std::exp(Value(x[at]) - most) / sum;
        }
      }
    });
  }

 private:
  static T Value(T x) {
    return kSlip == Slip::kNan && std::isnan(x) ? T{0} : x;
  }

  int64_t axis_;
};

template <typename T, typename Planted>
class ReduceSum final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit ReduceSum(const OpKernelConstruction& construction)
      : dim_(construction.Attr<Ints>("dim")),
        all_(construction.Attr<bool>("reduce_all") || dim_.empty()) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    T* out = Out<T>(context);
    const int64_t sums = dims().numel();
    std::vector<double> totals(static_cast<size_t>(sums));
    if (kSlip == Slip::kStale) std::copy_n(out, sums, totals.begin());
    int64_t counted = x.numel();
    if (kSlip == Slip::kFirst4096) counted = std::min<int64_t>(counted, 4096);
    if (kSlip == Slip::kRace) {
      volatile double* shared = totals.data();
      ParallelFor(counted, 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t at = Target(x.dims(), i);
          shared[at] = shared[at] + static_cast<double>(x.data<T>()[i]);
        }
      });
    } else {
      for (int64_t i = 0; i < counted; ++i) {
        totals[Target(x.dims(), i)] += static_cast<double>(x.data<T>()[i]);
      }
    }
    std::transform(totals.begin(), totals.end(), out,
                   [](double total) { return static_cast<T>(total); });
  }

 private:
  bool Sums(int axis, int rank) const {
    return all_ || std::any_of(dim_.begin(), dim_.end(), [&](int64_t dim) {
             return dim == axis || dim + rank == axis;
           });
  }

  int64_t Target(const DDim& x, int64_t element) const {
    int64_t target = 0;
    int64_t stride = 1;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      const int64_t index = element % x[axis];
      element /= x[axis];
      if (Sums(axis, x.rank())) continue;
      target += index * stride;
      stride *= x[axis];
    }
    return target;
  }

  Ints dim_;
  bool all_;
};

// Cross entropy for labels that are classes.
template <typename T, typename Planted>
class CrossEntropy final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit CrossEntropy(const OpKernelConstruction& construction)
      : ignore_(construction.Attr<int64_t>("ignore_index")) {}

  void Compute(OpKernelContext& context) const override {
    const T* logits = context.Input("Logits").data<T>();
    const auto* labels = context.Input("Label").data<int64_t>();
    const int64_t rows = context.Input("Label").numel();
    const int64_t classes = dims()[dims().rank() - 1];
    T* softmax = Out<T>(context, 0);
    T* loss = Out<T>(context, 1);
    for (int64_t row = 0; row < rows; ++row) {
      const T* in = logits + row * classes;
      T most = in[0];
      for (int64_t i = 1; i < classes; ++i) {
        if (!(in[i] <= most)) most = in[i];
      }
      T sum = 0;
      for (int64_t i = 0; i < classes; ++i) {
        sum += std::exp(in[i] - most);
      }
      for (int64_t i = 0; i < classes; ++i) {
        softmax[row * classes + i] = std::exp(in[i] - most) / sum;
      }
      int64_t label = labels[row];
      if (label == ignore_ && kSlip != Slip::kIgnoreIndex) {
        loss[row] = 0;
        continue;
      }
      if (kSlip == Slip::kClampsLabel) {
        label = std::clamp<int64_t>(label, 0, classes - 1);
      }
      SLUICE_ENFORCE(label >= 0 && label < classes, ErrorCode::kOutOfRange,
                     "wrong_kernels.label",
                     "Label is {}, expected a class below {}", label, classes);
      loss[row] = std::log(sum) - (in[label] - most);
    }
  }

 private:
  int64_t ignore_;
};

std::string HardLabels(const KernelQuery& query) {
  if (query.Attr<bool>("soft_label")) return "needs hard labels";
  const auto axis = query.Attr<int64_t>("axis");
  const bool last = axis == -1 || axis == query.inputs[0].rank() - 1;
  return last ? "" : "needs classes along the last dim";
}

}  // namespace

REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Softmax<float, With<Slip::kNone>>,
                   Softmax<double, With<Slip::kNone>>);
REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   race,
                   KernelTraits(),
                   Softmax<float, With<Slip::kRace>>);
REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   ignores_axis,
                   KernelTraits(),
                   Softmax<float, With<Slip::kIgnoresAxis>>);
REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   nan,
                   KernelTraits(),
                   Softmax<float, With<Slip::kNan>>);
REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   off,
                   KernelTraits(),
                   Softmax<float, With<Slip::kOff>>);
REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   no_maximum,
                   KernelTraits(),
                   Softmax<float, With<Slip::kNoMaximum>>);
REGISTER_OP_KERNEL(softmax,
                   WRONG,
                   CPUPlace,
                   long_rows,
                   KernelTraits(),
                   Softmax<double, With<Slip::kLongRows>>);
REGISTER_OP_KERNEL(reduce_sum,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   ReduceSum<float, With<Slip::kNone>>,
                   ReduceSum<double, With<Slip::kNone>>);
REGISTER_OP_KERNEL(reduce_sum,
                   WRONG,
                   CPUPlace,
                   race,
                   KernelTraits(),
                   ReduceSum<float, With<Slip::kRace>>);
REGISTER_OP_KERNEL(reduce_sum,
                   WRONG,
                   CPUPlace,
                   stale,
                   KernelTraits(),
                   ReduceSum<float, With<Slip::kStale>>);
REGISTER_OP_KERNEL(reduce_sum,
                   WRONG,
                   CPUPlace,
                   first_4096,
                   KernelTraits(),
                   ReduceSum<double, With<Slip::kFirst4096>>);
REGISTER_OP_KERNEL(softmax_with_cross_entropy,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits().When(&HardLabels),
                   CrossEntropy<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(softmax_with_cross_entropy,
                   WRONG,
                   CPUPlace,
                   clamps_label,
                   KernelTraits().When(&HardLabels),
                   CrossEntropy<float, With<Slip::kClampsLabel>>);
REGISTER_OP_KERNEL(softmax_with_cross_entropy,
                   WRONG,
                   CPUPlace,
                   ignore_index,
                   KernelTraits().When(&HardLabels),
                   CrossEntropy<float, With<Slip::kIgnoreIndex>>);

}  // namespace sluice::wrong_kernels
