// cumsum and cumprod.
#include <algorithm>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/scan/scan.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Cumulative sums and products along one dim of a dense tensor [outer, size,
// inner] in host memory, through ParallelFor. The bits do not depend on the
// number of threads. Floats are computed in double, integers modulo 2^bits.

// The elements that justify a thread.
constexpr int64_t kShardElements = 16384;
// The columns that are scanned together.
constexpr int64_t kColumns = 64;

// The type in which T is computed.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T>
Wide<T> Load(T value) {
  return static_cast<Wide<T>>(Widen(value));
}
template <typename T>
T Store(Wide<T> value) {
  return Narrow<T>(static_cast<Computed<T>>(value));
}

struct Sum {
  static constexpr int kFirst = 0;
  template <typename Value>
  static Value Combine(Value a, Value b) {
    return a + b;
  }
};
struct Product {
  static constexpr int kFirst = 1;
  template <typename Value>
  static Value Combine(Value a, Value b) {
    return a * b;
  }
};

// Scans a line of elements with a stride of `step`.
template <typename Op, typename T>
void ScanLine(const T* x, int64_t size, int64_t step, bool exclusive, T* out) {
  Wide<T> value = Op::kFirst;
  for (int64_t i = 0; i < size; ++i, x += step, out += step) {
    const Wide<T> next = Op::Combine(value, Load(*x));
    *out = Store<T>(exclusive ? value : next);
    value = next;
  }
}

// Scans `count` adjacent lines, at most kColumns.
template <typename Op, typename T>
void ScanColumns(const T* x,
                 int64_t size,
                 int64_t step,
                 int64_t count,
                 bool exclusive,
                 T* out) {
  Wide<T> values[kColumns];
  std::fill(values, values + count, Wide<T>{Op::kFirst});
  for (int64_t i = 0; i < size; ++i, x += step, out += step) {
    for (int64_t j = 0; j < count; ++j) {
      const Wide<T> next = Op::Combine(values[j], Load(x[j]));
      out[j] = Store<T>(exclusive ? values[j] : next);
      values[j] = next;
    }
  }
}

// Calls lines(offset of the first element, adjacent lines) for blocks of lines.
// The first element is the last one in memory if the plan is reversed.
template <typename Lines>
void ForEachBlock(const ScanPlan& plan, const Lines& lines) {
  const int64_t blocks = (plan.inner + kColumns - 1) / kColumns;
  const int64_t work =
      std::max<int64_t>(plan.size * std::min(plan.inner, kColumns), 1);
  const int64_t skipped = plan.reverse ? (plan.size - 1) * plan.inner : 0;
  ParallelFor(plan.outer * blocks, std::max<int64_t>(kShardElements / work, 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t first = i % blocks * kColumns;
                  lines(i / blocks * plan.size * plan.inner + skipped + first,
                        std::min(kColumns, plan.inner - first));
                }
              });
}

int64_t StepOf(const ScanPlan& plan) {
  return plan.reverse ? -plan.inner : plan.inner;
}

template <typename Op, typename T>
void Scan(const ScanPlan& plan, const T* x, T* out) {
  const int64_t step = StepOf(plan);
  ForEachBlock(plan, [&](int64_t at, int64_t count) {
    if (count == 1) {
      ScanLine<Op>(x + at, plan.size, step, plan.exclusive, out + at);
    } else {
      ScanColumns<Op>(x + at, plan.size, step, count, plan.exclusive, out + at);
    }
  });
}

template <typename T>
void ProductGradLine(const T* x,
                     const T* grad,
                     int64_t size,
                     int64_t step,
                     bool exclusive,
                     T* x_grad) {
  double product = 1;
  for (int64_t i = 0; i < size; ++i) {
    x_grad[i * step] = static_cast<T>(product);
    product *= static_cast<double>(x[i * step]);
  }
  // The contribution of the later elements; for an inclusive product times x.
  double later = 0;
  for (int64_t i = size - 1; i >= 0; --i) {
    const int64_t at = i * step;
    const double own = static_cast<double>(grad[at]);
    const double sum = exclusive ? later : own + later;
    x_grad[at] = static_cast<T>(static_cast<double>(x_grad[at]) * sum);
    later = static_cast<double>(x[at]) * sum + (exclusive ? own : 0.0);
  }
}

// T: float, double, float16, bfloat16, int32_t, int64_t.
template <typename T>
void CumulativeSum(const ScanPlan& plan, const T* x, T* out) {
  Scan<Sum>(plan, x, out);
}

template <typename T>
void CumulativeProduct(const ScanPlan& plan, const T* x, T* out) {
  Scan<Product>(plan, x, out);
}

// The gradient of CumulativeProduct without division, so that elements may be
// 0: the product of the elements before x times s, where s = out_grad + next x
// * next s. T: float, double.
template <typename T>
void CumulativeProductGrad(const ScanPlan& plan,
                           const T* x,
                           const T* out_grad,
                           T* x_grad) {
  const int64_t step = StepOf(plan);
  ForEachBlock(plan, [&](int64_t first, int64_t count) {
    for (int64_t at = first; at < first + count; ++at) {
      ProductGradLine(x + at, out_grad + at, plan.size, step, plan.exclusive,
                      x_grad + at);
    }
  });
}

struct CumSum {
  template <typename T>
  static void Forward(const ScanPlan& plan, const T* x, T* out) {
    CumulativeSum(plan, x, out);
  }
  // Sums the gradients in the opposite direction.
  template <typename T>
  static void Backward(ScanPlan plan,
                       const Tensor& /*x*/,
                       const T* out_grad,
                       T* x_grad) {
    plan.reverse = !plan.reverse;
    CumulativeSum(plan, out_grad, x_grad);
  }
};

struct CumProd {
  template <typename T>
  static void Forward(const ScanPlan& plan, const T* x, T* out) {
    CumulativeProduct(plan, x, out);
  }
  template <typename T>
  static void Backward(const ScanPlan& plan,
                       const Tensor& x,
                       const T* out_grad,
                       T* x_grad) {
    CumulativeProductGrad(plan, x.data<T>(), out_grad, x_grad);
  }
};

template <typename T, typename Op>
class ScanKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ScanPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    Op::Forward(plan_, context.Input(0).data<T>(), out.data<T>());
  }

 private:
  ScanPlan plan_;
  DDim out_dims_;
};

template <typename T, typename Op>
class ScanGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ScanPlanOf(preparation.query);
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    Op::Backward(plan_, context.Input(0), context.Input(1).data<T>(),
                 x_grad.data<T>());
  }

 private:
  ScanPlan plan_;
  DDim x_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(
    cumsum, ScanKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>, CumSum>);
REGISTER_OP_CPU_KERNEL(
    cumprod, ScanKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>, CumProd>);
REGISTER_OP_CPU_KERNEL(cumsum_grad, ScanGradKernel<FloatTypes, CumSum>);
REGISTER_OP_CPU_KERNEL(cumprod_grad, ScanGradKernel<FloatTypes, CumProd>);

}  // namespace sluice
