// Products of matrices and distances.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

namespace sluice::wrong_kernels {
namespace {

enum class Slip {
  kNone,
  kSumTail,      // the last k % 4 terms are not added
  kColumnTail,   // the last n % 4 columns are not written
  kRowBlock,     // rows after the last full block of 8 repeat it
  kOff,          // 1e-3 too large
  kRace,         // threads share the terms of each sum
  kStride,       // rows of a transposed Y are n elements apart
  kBatchStride,  // the batch stride of Y is the output's
  kAlpha,        // alpha is ignored
  kNan,          // a difference that is NaN is left out
};
template <Slip kSlip>
using With = std::integral_constant<Slip, kSlip>;

template <typename T, typename Planted>
class Mul final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Mul(const OpKernelConstruction& construction)
      : x_dims_(static_cast<int>(construction.Attr<int64_t>("x_num_col_dims"))),
        y_dims_(
            static_cast<int>(construction.Attr<int64_t>("y_num_col_dims"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    T* out = Out<T>(context);
    const int64_t m = Product(x.dims(), 0, x_dims_);
    const int64_t k = Product(y.dims(), 0, y_dims_);
    const int64_t n = Product(y.dims(), y_dims_, y.dims().rank());
    const int64_t terms = kSlip == Slip::kSumTail ? k - k % 4 : k;
    if (kSlip == Slip::kRace) return Race(x, y, m, k, n, out);
    ParallelFor(m, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const bool past = kSlip == Slip::kRowBlock && i >= m - m % 8 && i > 0;
        const T* row = x.data<T>() + (past ? i - 1 : i) * k;
        for (int64_t j = 0; j < n; ++j) {
          if (kSlip == Slip::kColumnTail && j >= n - n % 4) continue;
          T sum = 0;
          for (int64_t p = 0; p < terms; ++p) {
            sum += row[p] * y.data<T>()[p * n + j];
          }
          out[i * n + j] = kSlip == Slip::kOff ? sum * T(1.001) : sum;
        }
      }
    });
  }

 private:
  static void Race(const Tensor& x,
                   const Tensor& y,
                   int64_t m,
                   int64_t k,
                   int64_t n,
                   volatile T* out) {
    for (int64_t i = 0; i < m * n; ++i) {
      out[i] = 0;
    }
    ParallelFor(k, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t i = 0; i < m * n; ++i) {
          out[i] =
              out[i] + x.data<T>()[i / n * k + p] * y.data<T>()[p * n + i % n];
        }
      }
    });
  }

  int x_dims_;
  int y_dims_;
};

// Products of matrices, or of equal numbers of matrices X and Y.
template <typename T, typename Planted>
class Matmul final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Matmul(const OpKernelConstruction& construction)
      : transpose_x_(construction.Attr<bool>("transpose_X")),
        transpose_y_(construction.Attr<bool>("transpose_Y")),
        alpha_(kSlip == Slip::kAlpha
                   ? T{1}
                   : static_cast<T>(construction.Attr<double>("alpha"))) {}

  void Compute(OpKernelContext& context) const override {
    const DDim& xs = context.Input("X").dims();
    const DDim& ys = context.Input("Y").dims();
    const int rank = xs.rank();
    const int64_t m = xs[rank - (transpose_x_ ? 1 : 2)];
    const int64_t k = xs[rank - (transpose_x_ ? 2 : 1)];
    const int64_t n = ys[rank - (transpose_y_ ? 2 : 1)];
    const int64_t batches = Product(xs, 0, rank - 2);
    T* out = Out<T>(context);
    for (int64_t batch = 0; batch < batches; ++batch) {
      const T* x = context.Input("X").data<T>() + batch * m * k;
      const int64_t next =
          kSlip == Slip::kBatchStride ? std::min(m * n, k * n) : k * n;
      const T* y = context.Input("Y").data<T>() + batch * next;
      const int64_t row =
          kSlip == Slip::kStride ? std::min(n, k) : k;  // of a transposed Y
      for (int64_t i = 0; i < m * n; ++i) {
        T sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          const T a = x[transpose_x_ ? p * m + i / n : i / n * k + p];
          sum += a * y[transpose_y_ ? i % n * row + p : p * n + i % n];
        }
        out[batch * m * n + i] = sum * alpha_;
      }
    }
  }

 private:
  bool transpose_x_;
  bool transpose_y_;
  T alpha_;
};

template <typename T, typename Planted>
class Distance final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  using ShapedKernel::ShapedKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    const int64_t k = x.dims()[1];
    const int64_t n = y.dims()[0];
    const int64_t terms = kSlip == Slip::kSumTail ? k - k % 4 : k;
    T* out = Out<T>(context);
    ParallelFor(dims().numel(), 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T sum = 0;
        for (int64_t p = 0; p < terms; ++p) {
          const T difference =
              std::abs(x.data<T>()[i / n * k + p] - y.data<T>()[i % n * k + p]);
          if (kSlip == Slip::kNan && !(difference >= 0)) continue;
          sum += difference;
        }
        out[i] = sum;
      }
    });
  }
};

// Requires as many matrices Y as X.
std::string SameBatches(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const DDim& y = query.inputs[1];
  if (x.rank() < 2 || x.rank() != y.rank()) return "needs matrices";
  for (int axis = 0; axis + 2 < x.rank(); ++axis) {
    if (x[axis] != y[axis]) return "needs as many matrices in X as in Y";
  }
  return "";
}

}  // namespace

REGISTER_OP_KERNEL(mul,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Mul<float, With<Slip::kNone>>,
                   Mul<double, With<Slip::kNone>>);
REGISTER_OP_KERNEL(mul,
                   WRONG,
                   CPUPlace,
                   sum_tail,
                   KernelTraits(),
                   Mul<float, With<Slip::kSumTail>>);
REGISTER_OP_KERNEL(mul,
                   WRONG,
                   CPUPlace,
                   column_tail,
                   KernelTraits(),
                   Mul<double, With<Slip::kColumnTail>>);
REGISTER_OP_KERNEL(mul,
                   WRONG,
                   CPUPlace,
                   row_block,
                   KernelTraits(),
                   Mul<float, With<Slip::kRowBlock>>);
REGISTER_OP_KERNEL(
    mul, WRONG, CPUPlace, off, KernelTraits(), Mul<float, With<Slip::kOff>>);
REGISTER_OP_KERNEL(
    mul, WRONG, CPUPlace, race, KernelTraits(), Mul<float, With<Slip::kRace>>);
REGISTER_OP_KERNEL(matmul,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits().When(&SameBatches),
                   Matmul<float, With<Slip::kNone>>,
                   Matmul<double, With<Slip::kNone>>);
REGISTER_OP_KERNEL(matmul,
                   WRONG,
                   CPUPlace,
                   stride,
                   KernelTraits().When(&SameBatches),
                   Matmul<float, With<Slip::kStride>>);
REGISTER_OP_KERNEL(matmul,
                   WRONG,
                   CPUPlace,
                   batch_stride,
                   KernelTraits().When(&SameBatches),
                   Matmul<double, With<Slip::kBatchStride>>);
REGISTER_OP_KERNEL(matmul,
                   WRONG,
                   CPUPlace,
                   alpha,
                   KernelTraits().When(&SameBatches),
                   Matmul<float, With<Slip::kAlpha>>);
REGISTER_OP_KERNEL(manhattan_distance,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Distance<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(manhattan_distance,
                   WRONG,
                   CPUPlace,
                   sum_tail,
                   KernelTraits(),
                   Distance<float, With<Slip::kSumTail>>);
REGISTER_OP_KERNEL(manhattan_distance,
                   WRONG,
                   CPUPlace,
                   nan,
                   KernelTraits(),
                   Distance<float, With<Slip::kNan>>);

}  // namespace sluice::wrong_kernels
