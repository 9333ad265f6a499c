#include <algorithm>
#include <cstdint>
#include <vector>

#include <cublas_v2.h>

#include "sluice/platform/cuda_emulation/control.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace sluice::cuda_emulation {
namespace {

template <typename T>
struct Matrix {
  T* data;
  int64_t lead;
  int64_t stride;  // from one matrix of the batch to the next
  bool transposed;
};

template <typename T>
struct Product {
  int64_t m, n, k;
  T alpha, beta;
  Matrix<const T> a, b;
  Matrix<T> c;
  int64_t batch;
};

// Returns the element in row i and column j after the transposition, if any.
template <typename T>
const T& At(const Matrix<const T>& matrix,
            int64_t batch,
            int64_t i,
            int64_t j) {
  const int64_t offset =
      matrix.transposed ? j + i * matrix.lead : i + j * matrix.lead;
  return matrix.data[batch * matrix.stride + offset];
}

template <typename T>
void MultiplyOne(const Product<T>& product, int64_t batch, T* column) {
  const int64_t m = product.m;
  // A is copied in column order, so that the inner loop is contiguous.
  std::vector<T> a(static_cast<size_t>(m * product.k));
  for (int64_t p = 0; p < product.k; ++p) {
    for (int64_t i = 0; i < m; ++i) {
      a[p * m + i] = At(product.a, batch, i, p);
    }
  }
  for (int64_t j = 0; j < product.n; ++j) {
    std::fill(column, column + m, T{0});
    for (int64_t p = 0; p < product.k; ++p) {
      const T factor = At(product.b, batch, p, j);
      const T* from = a.data() + p * m;
      for (int64_t i = 0; i < m; ++i) {
        column[i] += from[i] * factor;
      }
    }
    T* out = product.c.data + batch * product.c.stride + j * product.c.lead;
    for (int64_t i = 0; i < m; ++i) {
      // If beta is 0, `out` is not read: it may be NaN.
      const T before = product.beta == T{0} ? T{0} : product.beta * out[i];
      out[i] = product.alpha * column[i] + before;
    }
  }
}

template <typename T>
cublasStatus_t Multiply(cublasHandle_t handle, const Product<T>& product) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int64_t rows_a = product.a.transposed ? product.k : product.m;
  const int64_t rows_b = product.b.transposed ? product.n : product.k;
  const bool fits = product.m >= 0 && product.n >= 0 && product.k >= 0 &&
                    product.batch >= 0 &&
                    product.a.lead >= std::max<int64_t>(1, rows_a) &&
                    product.b.lead >= std::max<int64_t>(1, rows_b) &&
                    product.c.lead >= std::max<int64_t>(1, product.m);
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  if (product.m == 0 || product.n == 0 || product.batch == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const cudaError_t error =
      EnqueueLibraryCall("cuBLAS gemm", handle->stream, [product] {
        std::vector<T> column(static_cast<size_t>(product.m));
        for (int64_t i = 0; i < product.batch; ++i) {
          MultiplyOne(product, i, column.data());
        }
      });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace sluice::cuda_emulation

using sluice::cuda_emulation::Multiply;

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
  }
  return "unknown status";
}

// NOLINTBEGIN(google-runtime-int)
#define SLUICE_DEFINE_GEMM(T, one, batched)                                    \
  cublasStatus_t one(cublasHandle_t handle, cublasOperation_t transpose_a,     \
                     cublasOperation_t transpose_b, int m, int n, int k,       \
                     const T* alpha, const T* a, int lda, const T* b, int ldb, \
                     const T* beta, T* c, int ldc) {                           \
    return batched(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda,   \
                   0, b, ldb, 0, beta, c, ldc, 0, 1);                          \
  }                                                                            \
  cublasStatus_t batched(cublasHandle_t handle, cublasOperation_t transpose_a, \
                         cublasOperation_t transpose_b, int m, int n, int k,   \
                         const T* alpha, const T* a, int lda,                  \
                         long long stride_a, const T* b, int ldb,              \
                         long long stride_b, const T* beta, T* c, int ldc,     \
                         long long stride_c, int batch) {                      \
    return Multiply<T>(handle,                                                 \
                       {m,                                                     \
                        n,                                                     \
                        k,                                                     \
                        *alpha,                                                \
                        *beta,                                                 \
                        {a, lda, stride_a, transpose_a != CUBLAS_OP_N},        \
                        {b, ldb, stride_b, transpose_b != CUBLAS_OP_N},        \
                        {c, ldc, stride_c, false},                             \
                        batch});                                               \
  }                                                                            \
  static_assert(true)

SLUICE_DEFINE_GEMM(float, cublasSgemm_v2, cublasSgemmStridedBatched);
SLUICE_DEFINE_GEMM(double, cublasDgemm_v2, cublasDgemmStridedBatched);
// NOLINTEND(google-runtime-int)
