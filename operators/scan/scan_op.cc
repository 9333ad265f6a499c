#include <algorithm>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/scan/scan.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/parallel_for.h"

// cumsum and cumprod.
namespace sluice {
namespace {

// Returns X's shape, or all of its elements as one dim.
DDim ScannedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  if (context.Attr<bool>("flatten")) {
    return {x.known() ? x.numel() : kUnknownDim};
  }
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(
      !x.rank_known() || (axis >= -x.rank() && axis < x.rank()), "scan.axis",
      "attribute axis = {} is no dimension of input X {}; expected {} to {}",
      axis, x, -x.rank(), x.rank() - 1);
  return x;
}

// The shape does not depend on the axis.
void ScanLateShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const bool flat = context.Attr<bool>("flatten");
  context.SetOutput("Out", flat ? DDim{kUnknownDim} : x);
}

struct ScanRow {
  const char* name;
  const char* doc;
  const char* grad_doc;
  const char* onnx;
  bool grad_reads_x;
};

constexpr ScanRow kRows[] = {
    {"cumsum",
     "The sum of the elements up to each one, along one dimension. Floats are "
     "summed in float64; integers wrap around.",
     "the sum of Out@GRAD from each element on.", "CumSum", false},
    {"cumprod",
     "The product of the elements up to each one, along one dimension. Floats "
     "are multiplied in float64; integers wrap around.",
     "no element is divided by, so that all may be 0.", "CumProd", true},
};

// cumsum needs only the shape of X.
constexpr GradientOp kScanGrad = {.inputs = {"X"}, .dims = ScannedDims};

void Schema(const ScanRow& row, OpSchema& op) {
  op.Doc(row.doc);
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "Of rank 1 or more; with flatten of any.");
  op.Output("Out", "T", "In X's shape; with flatten [elements].");
  op.Attr<int64_t>("axis", "The dimension; a negative one counts from the end.")
      .Default(int64_t{-1});
  op.Attr<bool>("flatten",
                "Runs along all elements in row-major order, whatever axis "
                "says.")
      .Default(false);
  op.Attr<bool>("exclusive",
                "Leaves the element itself out: the first is that of none.")
      .Default(false);
  op.Attr<bool>("reverse", "From the last element to the first.")
      .Default(false);
  op.TypeVar("S", IndexDTypes());
  op.Operand("Axis", "axis", "S", "Attribute axis as one element.");
  op.InferShape(OutShape<ScannedDims>).InferLateShape(ScanLateShape);
  op.SharesRows("Out", {"X"}, AxisSparesRows);
  op.Gradient(MakeGradients<kScanGrad>).Onnx({row.onnx, {}});
}

void AddScanOps(Registry& registry) {
  for (const ScanRow& row : kRows) {
    registry.AddOperator(row.name, [&](OpSchema& op) { Schema(row, op); });
    registry.AddOperator(std::string(row.name) + "_grad", [&](OpSchema& op) {
      GradientOp gradient = kScanGrad;
      gradient.inputs[0].shape_only = !row.grad_reads_x;
      DeriveGradient(registry.Schema(row.name), gradient, op);
      op.Doc(std::string("The gradient of ") + row.name + ": " + row.grad_doc);
      op.InferShape(GradientShape<kScanGrad>);
    });
  }
}

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

// Scans kBeside lines, each `size` elements after the one before: the next sum
// of a line waits for the one before it.
constexpr int64_t kBeside = 4;
template <typename Op, typename T>
void ScanRows(const T* x, int64_t size, int64_t step, bool exclusive, T* out) {
  Wide<T> values[kBeside];
  std::fill(values, values + kBeside, Wide<T>{Op::kFirst});
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < kBeside; ++j) {
      const int64_t at = i * step + j * size;
      const Wide<T> next = Op::Combine(values[j], Load(x[at]));
      out[at] = Store<T>(exclusive ? values[j] : next);
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
  if (plan.inner > 1) {
    ForEachBlock(plan, [&](int64_t at, int64_t count) {
      ScanColumns<Op>(x + at, plan.size, step, count, plan.exclusive, out + at);
    });
    return;
  }
  const int64_t skipped = plan.reverse ? plan.size - 1 : 0;
  ParallelFor(
      plan.outer, std::max<int64_t>(kShardElements / plan.size, kBeside),
      [&](int64_t begin, int64_t end) {
        int64_t i = begin;
        for (; i + kBeside <= end; i += kBeside) {
          const int64_t at = i * plan.size + skipped;
          ScanRows<Op>(x + at, plan.size, step, plan.exclusive, out + at);
        }
        for (; i < end; ++i) {
          const int64_t at = i * plan.size + skipped;
          ScanLine<Op>(x + at, plan.size, step, plan.exclusive, out + at);
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

REGISTER_TABLE(scan_ops, AddScanOps);
REGISTER_OP_CPU_KERNEL(
    cumsum, ScanKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>, CumSum>);
REGISTER_OP_CPU_KERNEL(
    cumprod, ScanKernel<JoinTypes<FloatAndHalfTypes, IndexTypes>, CumProd>);
REGISTER_OP_CPU_KERNEL(cumsum_grad, ScanGradKernel<FloatTypes, CumSum>);
REGISTER_OP_CPU_KERNEL(cumprod_grad, ScanGradKernel<FloatTypes, CumProd>);

}  // namespace sluice
