#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice {

// The matrices of a matmul's input as stored: its last two dimensions. A vector
// is a row [1, size] as X and a column [size, 1] as Y. Out does not have its
// dimension of size 1, unless the vector was transposed.
struct SLUICE_API StoredMatrix {
  DDim batch;  // the batch dimensions
  int64_t rows = 1;
  int64_t columns = 1;
};
SLUICE_API StoredMatrix StoredX(const DDim& x);
SLUICE_API StoredMatrix StoredY(const DDim& y);

// The results that can be computed: Out of a matmul, and its gradients.
enum class MatMulResult : uint8_t {
  kOut,    // op(X) op(Y), from X and Y
  kXGrad,  // from Out@GRAD and Y
  kYGrad,  // from X and Out@GRAD
};

// One result as GEMMs, on any place: for each index of `batch`, C is the sum of
// op(A) op(B) over all indices of `summed`. Axes are outermost first, with
// steps in elements. Adjacent axes are fused if possible, also into m or k.
struct SLUICE_API MatMulPlan {
  struct Axis {
    int64_t size = 1, a = 0, b = 0, c = 0;
  };
  struct Axes {
    int rank = 0;
    std::array<Axis, DDim::kMaxRank> axis{};

    int64_t count() const;
    // Returns the offsets of the matrices at index `index`.
    Axis At(int64_t index) const;
    void Fuse();
  };

  bool swapped = false;  // A is the second input
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  Axes batch, summed;
};

// The shapes must be known and fit.
SLUICE_API MatMulPlan PlanMatMul(MatMulResult result,
                                 const DDim& x,
                                 const DDim& y,
                                 bool transpose_x,
                                 bool transpose_y);

// Computes the result times alpha in host memory, through ParallelFor. `first`
// and `second` are the inputs named at MatMulResult. T: float, double. The bits
// do not depend on the number of threads.
template <typename T>
SLUICE_API void MatMul(
    const MatMulPlan& plan, T alpha, const T* first, const T* second, T* out);

// Returns the cost of MatMul; `element` is sizeof(T).
SLUICE_API KernelWork MatMulWork(const MatMulPlan& plan, size_t element);

// Returns the part of the cost that all kernels share: the memory accessed, and
// the flops with vectors along the columns.
SLUICE_API KernelWork ProductWork(const MatMulPlan& plan,
                                  size_t element,
                                  int64_t lanes);

}  // namespace sluice
