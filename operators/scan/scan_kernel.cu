#include <type_traits>

#include "sluice/operators/registration.h"
#include "sluice/operators/scan/scan.h"
#include "sluice/platform/cuda/launch.h"

// cumsum and cumprod.
namespace sluice {
namespace {

// The type in which T is computed.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

struct RunningSum {
  static constexpr int kFirst = 0;
  template <typename Value>
  __device__ static Value Combine(Value a, Value b) {
    return a + b;
  }
};
struct RunningProduct {
  static constexpr int kFirst = 1;
  template <typename Value>
  __device__ static Value Combine(Value a, Value b) {
    return a * b;
  }
};

// The lines of a ScanPlan.
struct Lines {
  int64_t count, size, inner;
  bool exclusive, reverse;

  explicit Lines(const ScanPlan& plan)
      : count(plan.outer * plan.inner),
        size(plan.size),
        inner(plan.inner),
        exclusive(plan.exclusive),
        reverse(plan.reverse) {}

  // Returns the offset of element i of a line, in scan order.
  __device__ int64_t At(int64_t line, int64_t i) const {
    return line / inner * size * inner + line % inner +
           (reverse ? size - 1 - i : i) * inner;
  }
};

// Each thread scans a line.
template <typename Op, typename T>
void ScanInThreads(const CUDADeviceContext& device,
                   const Lines& lines,
                   const T* x,
                   T* out) {
  ForEach(device, lines.count, [=] __device__(int64_t line) {
    Wide<T> value = Op::kFirst;
    for (int64_t i = 0; i < lines.size; ++i) {
      const int64_t at = lines.At(line, i);
      const Wide<T> next = Op::Combine(value, static_cast<Wide<T>>(x[at]));
      out[at] = static_cast<T>(lines.exclusive ? value : next);
      value = next;
    }
  });
}

constexpr int kThreads = 128;

// Each block scans a line, kThreads elements at a time: each element adds the
// sum 1, 2, 4, ... elements before it (W. Hillis, G. Steele 1986).
template <typename Op, typename T>
__global__ void ScanInBlocksKernel(Lines lines, const T* x, T* out) {
  SLUICE_SHARED_ARRAY(Wide<T>, values, [kThreads]);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int64_t line = blockIdx.x; line < lines.count; line += gridDim.x) {
    Wide<T> before = Op::kFirst;  // the total of the previous elements
    for (int64_t first = 0; first < lines.size; first += kThreads) {
      const bool inside = first + thread < lines.size;
      const int64_t at = inside ? lines.At(line, first + thread) : 0;
      values[thread] = inside ? static_cast<Wide<T>>(x[at]) : Op::kFirst;
      __syncthreads();
      for (int step = 1; step < kThreads; step *= 2) {
        const Wide<T> own = values[thread];
        const Wide<T> other = thread >= step ? values[thread - step] : own;
        __syncthreads();
        if (thread >= step) values[thread] = Op::Combine(other, own);
        __syncthreads();
      }
      if (inside) {
        Wide<T> result = before;
        const int last = lines.exclusive ? thread - 1 : thread;
        if (last >= 0) result = Op::Combine(before, values[last]);
        out[at] = static_cast<T>(result);
      }
      before = Op::Combine(before, values[kThreads - 1]);
      __syncthreads();
    }
  }
}

template <typename Op, typename T>
void Scan(const CUDADeviceContext& device,
          const Lines& lines,
          const T* x,
          T* out) {
  constexpr int64_t kShort = 128, kManyLines = 4096;
  if (lines.size <= kShort || lines.count >= kManyLines) {
    return ScanInThreads<Op>(device, lines, x, out);
  }
  Launch<ScanInBlocksKernel<Op, T>>(
      {device, GridFor(lines.count, 1), dim3(kThreads)}, lines, x, out);
}

template <typename T, typename Op>
class ScanCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ScanPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    Scan<Op>(context.device_context<CUDADeviceContext>(), Lines(plan_),
             context.Input(0).data<T>(), out.data<T>());
  }

 private:
  ScanPlan plan_;
  DDim out_dims_;
};

// Computes like CumulativeProductGrad.
template <typename T>
void ProductGrad(const CUDADeviceContext& device,
                 const Lines& lines,
                 const T* x,
                 const T* out_grad,
                 T* x_grad) {
  ForEach(device, lines.count, [=] __device__(int64_t line) {
    double product = 1;
    for (int64_t i = 0; i < lines.size; ++i) {
      const int64_t at = lines.At(line, i);
      x_grad[at] = static_cast<T>(product);
      product *= x[at];
    }
    double later = 0;
    for (int64_t i = lines.size - 1; i >= 0; --i) {
      const int64_t at = lines.At(line, i);
      const double own = out_grad[at];
      const double sum = lines.exclusive ? later : own + later;
      x_grad[at] = static_cast<T>(static_cast<double>(x_grad[at]) * sum);
      later = x[at] * sum + (lines.exclusive ? own : 0.0);
    }
  });
}

template <typename T, typename Op>
class ScanGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ScanPlanOf(preparation.query);
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    const T* out_grad = context.Input(1).data<T>();
    Lines lines(plan_);
    if constexpr (std::is_same_v<Op, RunningProduct>) {
      ProductGrad(device, lines, context.Input(0).data<T>(), out_grad,
                  x_grad.data<T>());
    } else {
      lines.reverse = !lines.reverse;
      Scan<RunningSum>(device, lines, out_grad, x_grad.data<T>());
    }
  }

 private:
  ScanPlan plan_;
  DDim x_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(
    cumsum, ScanCUDAKernel<JoinTypes<FloatTypes, IndexTypes>, RunningSum>);
REGISTER_OP_CUDA_KERNEL(
    cumprod, ScanCUDAKernel<JoinTypes<FloatTypes, IndexTypes>, RunningProduct>);
REGISTER_OP_CUDA_KERNEL(cumsum_grad,
                        ScanGradCUDAKernel<FloatTypes, RunningSum>);
REGISTER_OP_CUDA_KERNEL(cumprod_grad,
                        ScanGradCUDAKernel<FloatTypes, RunningProduct>);

}  // namespace sluice
