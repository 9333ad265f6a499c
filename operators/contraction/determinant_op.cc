#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/plain_formulas.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Returns the batch dims of X and checks that its matrices are square.
DDim BatchDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  if (!x.dims.rank_known()) return DDim::UnknownRank();
  const int last = x.rank() - 1;
  const int64_t rows = x.dims[last - 1], columns = x.dims[last];
  context.Require(rows == columns || rows < 0 || columns < 0,
                  "determinant.square",
                  "input X {} has matrices of {} rows and {} columns; expected "
                  "as many rows as columns",
                  x.dims, rows, columns);
  return x.dims.Subshape(0, last - 1);
}

void DeterminantSchema(OpSchema& op) {
  op.Doc(
      "The determinant of each matrix of X, computed in float64 by elimination "
      "with complete pivoting; 1 for matrices of size 0. NaN where a matrix "
      "has one.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[..., n, n].");
  op.Output("Out", "T", "The dims of X before the last two.");
  op.InferShape(OutShape<BatchDims>).Onnx({"Det", {}});
}

constexpr GradientOp kDeterminantGrad = {
    .forward = DeterminantSchema,
    .doc =
        "The gradient of determinant: Out@GRAD times the cofactors of X, which "
        "are det(X) times the transpose of its inverse where it has one. It is "
        "right for singular matrices, too, where PyTorch gives 0.",
    .inputs = {"X"},
    .dims = BatchDims};

// Determinants of `count` dense matrices [n, n] in host memory, through
// ParallelFor, in double. A matrix with its rows and columns permuted is
// decomposed into a lower and an upper triangular one; each pivot is the
// largest remaining element. T: float, double, float16, bfloat16.

#include "sluice/operators/math/scaled_product.inc"

// The LU decomposition of X with its rows and columns in the order of `row` and
// `column`: L below the diagonal, U on and above it.
class Triangles {
 public:
  explicit Triangles(int64_t n)
      : n_(n),
        row_(static_cast<size_t>(n)),
        column_(static_cast<size_t>(n)),
        elements_(static_cast<size_t>(n * n)),
        solution_(static_cast<size_t>(n)) {}

  template <typename T>
  void Decompose(const T* x) {
    std::transform(x, x + n_ * n_, elements_.begin(),
                   [](T value) { return static_cast<double>(Widen(value)); });
    std::iota(row_.begin(), row_.end(), int64_t{0});
    std::iota(column_.begin(), column_.end(), int64_t{0});
    sign_ = 1;
    for (int64_t k = 0; k < n_; ++k) {
      if (!MovePivot(k)) return;
      for (int64_t i = k + 1; i < n_; ++i) {
        const double factor = At(i, k) /= At(k, k);
        for (int64_t j = k + 1; j < n_; ++j) {
          At(i, j) -= factor * At(k, j);
        }
      }
    }
  }

  // Returns the product of `count` pivots, with the sign of the permutations.
  ScaledProduct Product(int64_t count) {
    ScaledProduct product;
    product.Multiply(sign_);
    for (int64_t i = 0; i < count; ++i) {
      product.Multiply(At(i, i));
    }
    return product;
  }

  // Computes out_grad times the cofactors. Their transpose, permuted, is adj(U)
  // times the inverse of L. Each iteration computes a column of that product.
  template <typename T>
  void Gradient(double out_grad, T* x_grad) {
    ScaledProduct scale = Product(n_ - 1);
    const bool none = scale.fraction == 0;  // the rank is less than n - 1
    scale.Multiply(out_grad);
    for (int64_t r = 0; r < n_; ++r) {
      if (!none) Solve(r);
      for (int64_t c = 0; c < n_; ++c) {
        ScaledProduct element = scale;
        if (!none) element.Multiply(solution_[c]);
        x_grad[row_[r] * n_ + column_[c]] =
            Narrow<T>(static_cast<Computed<T>>(element.Value()));
      }
    }
  }

 private:
  double& At(int64_t i, int64_t j) { return elements_[i * n_ + j]; }

  // Moves the largest remaining element, or a NaN, to element k of the
  // diagonal. Returns false if all remaining elements are 0.
  bool MovePivot(int64_t k) {
    int64_t row = k, column = k;
    for (int64_t i = k; i < n_; ++i) {
      for (int64_t j = k; j < n_; ++j) {
        const double size = std::abs(At(i, j));
        if (size <= std::abs(At(row, column)) || std::isnan(At(row, column))) {
          continue;
        }
        row = i;
        column = j;
      }
    }
    if (At(row, column) == 0) return false;
    if (row != k) {
      std::swap_ranges(&At(row, 0), &At(row, 0) + n_, &At(k, 0));
      std::swap(row_[row], row_[k]);
      sign_ = -sign_;
    }
    if (column != k) {
      for (int64_t i = 0; i < n_; ++i) {
        std::swap(At(i, column), At(i, k));
      }
      std::swap(column_[column], column_[k]);
      sign_ = -sign_;
    }
    return true;
  }

  // Computes column r of adj(U) times the inverse of L, without the product of
  // the first n - 1 pivots. With U = [[V, v], [0, d]] it is [(d y - v z) / V,
  // z], where [y, z] is column r of the inverse of L.
  void Solve(int64_t r) {
    double* y = solution_.data();
    for (int64_t i = 0; i < n_; ++i) {
      double sum = i == r ? 1 : 0;
      for (int64_t j = r; j < i; ++j) {
        sum -= At(i, j) * y[j];
      }
      y[i] = sum;
    }
    const int64_t last = n_ - 1;
    for (int64_t i = last - 1; i >= 0; --i) {
      double sum = At(last, last) * y[i] - At(i, last) * y[last];
      for (int64_t j = i + 1; j < last; ++j) {
        sum -= At(i, j) * y[j];
      }
      y[i] = sum / At(i, i);
    }
  }

  int64_t n_;
  double sign_ = 1;
  std::vector<int64_t> row_;
  std::vector<int64_t> column_;
  std::vector<double> elements_;
  std::vector<double> solution_;
};

// Calls body(triangles, i) for each matrix, in parallel.
template <typename Body>
void ForEachMatrix(int64_t count, int64_t n, const Body& body) {
  const double work = std::pow(static_cast<double>(n), 3) + 1;
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(kGrain / work));
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    Triangles triangles(n);
    for (int64_t i = begin; i < end; ++i) {
      body(triangles, i);
    }
  });
}

// The determinant is 1 for n = 0. The product of the pivots has no intermediate
// overflow or underflow.
template <typename T>
void Determinants(const T* x, int64_t count, int64_t n, T* out) {
  ForEachMatrix(count, n, [=](Triangles& triangles, int64_t i) {
    triangles.Decompose(x + i * n * n);
    const double product = triangles.Product(n).Value();
    out[i] = Narrow<T>(static_cast<Computed<T>>(product));
  });
}

// Computes x_grad = out_grad times the cofactors of each matrix. These are not
// divided by the last pivot, so that they are also right for rank n - 1. They
// are 0 for lower ranks.
template <typename T>
void DeterminantGradients(
    const T* x, const T* out_grad, int64_t count, int64_t n, T* x_grad) {
  ForEachMatrix(count, n, [=](Triangles& triangles, int64_t i) {
    triangles.Decompose(x + i * n * n);
    triangles.Gradient(static_cast<double>(Widen(out_grad[i])),
                       x_grad + i * n * n);
  });
}

template <typename T>
class DeterminantKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    n_ = x[x.rank() - 1];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).data<T>();
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    Determinants(x, out_dims_.numel(), n_, out);
  }

 private:
  int64_t n_ = 0;
  DDim out_dims_;
};

template <typename T>
class DeterminantGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* x_grad = context.AllocateOutput(0, x_dims_).template data<T>();
    if (x_dims_.numel() == 0) return;
    const int64_t n = x_dims_[x_dims_.rank() - 1];
    DeterminantGradients(context.Input(0).data<T>(), context.Input(1).data<T>(),
                         x_dims_.numel() / n / n, n, x_grad);
  }

 private:
  DDim x_dims_;
};

}  // namespace

REGISTER_OPERATOR(determinant, WithGradient<kDeterminantGrad>);
REGISTER_OPERATOR(determinant_grad, GradientSchema<kDeterminantGrad>);
REGISTER_OP_CPU_KERNEL(determinant, DeterminantKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(determinant_grad,
                       DeterminantGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
