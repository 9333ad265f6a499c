#pragma once

#include <array>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// The matrices of a matmul's input, as they are stored: the last two
// dimensions. A vector is a row [1, size] as X and a column [size, 1] as Y; the
// row or column of size 1 is not in Out, unless it was transposed.
struct SLUICE_API StoredMatrix {
  framework::DDim batch;  // the dimensions before
  int64_t rows = 1;
  int64_t columns = 1;
};
SLUICE_API StoredMatrix StoredX(const framework::DDim& x);
SLUICE_API StoredMatrix StoredY(const framework::DDim& y);

// What a matmul of X and Y or its gradients compute.
enum class MatMulPart : uint8_t {
  kOut,    // op(X) op(Y), from X and Y
  kXGrad,  // from Out@GRAD and Y
  kYGrad,  // from X and Out@GRAD
};

// One part as GEMMs on any place: for each index of `batch`, C is the sum of
// op(A) op(B) over all indices of `summed`. Axes are outermost first, steps are
// in elements; neighbours that lie alike are fused, into m or k where possible.
struct SLUICE_API MatMulPlan {
  struct Axis {
    int64_t size = 1, a = 0, b = 0, c = 0;
  };
  struct Axes {
    int rank = 0;
    std::array<Axis, framework::DDim::kMaxRank> axis{};

    int64_t count() const;
    // The steps from the first matrices to those of number `index`.
    Axis At(int64_t index) const;
    void Fuse();
  };

  bool swapped = false;  // A is the second of the tensors that the part names
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  Axes batch, summed;
};

// Shapes have to be known and to fit.
SLUICE_API MatMulPlan PlanMatMul(MatMulPart part,
                                 const framework::DDim& x,
                                 const framework::DDim& y,
                                 bool transpose_x,
                                 bool transpose_y);

// The part times alpha, in host memory, on ParallelFor; `first` and `second`
// are the tensors that the part names. T: float, double. The bits do not depend
// on the number of threads.
template <typename T>
SLUICE_API void MatMul(
    const MatMulPlan& plan, T alpha, const T* first, const T* second, T* out);

}  // namespace sluice::operators::math
