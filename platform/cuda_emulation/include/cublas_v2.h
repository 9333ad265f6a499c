#pragma once

#include <cuda_runtime.h>

#include "sluice/platform/export.h"

// A stand-in for cuBLAS: the calls that Sluice makes. Matrices are in column
// order; alpha and beta are read when the call is made.

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
};

enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };

using cublasHandle_t = struct cublasContext*;

extern "C" {

SLUICE_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
SLUICE_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
SLUICE_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle,
                                             cudaStream_t stream);
SLUICE_API const char* cublasGetStatusString(cublasStatus_t status);

SLUICE_API cublasStatus_t cublasSgemm_v2(cublasHandle_t handle,
                                         cublasOperation_t transpose_a,
                                         cublasOperation_t transpose_b,
                                         int m,
                                         int n,
                                         int k,
                                         const float* alpha,
                                         const float* a,
                                         int lda,
                                         const float* b,
                                         int ldb,
                                         const float* beta,
                                         float* c,
                                         int ldc);
SLUICE_API cublasStatus_t cublasDgemm_v2(cublasHandle_t handle,
                                         cublasOperation_t transpose_a,
                                         cublasOperation_t transpose_b,
                                         int m,
                                         int n,
                                         int k,
                                         const double* alpha,
                                         const double* a,
                                         int lda,
                                         const double* b,
                                         int ldb,
                                         const double* beta,
                                         double* c,
                                         int ldc);
SLUICE_API cublasStatus_t cublasSgemmStridedBatched(
    cublasHandle_t handle,
    cublasOperation_t transpose_a,
    cublasOperation_t transpose_b,
    int m,
    int n,
    int k,
    const float* alpha,
    const float* a,
    int lda,
    long long stride_a,  // NOLINT(google-runtime-int): as cuBLAS has it
    const float* b,
    int ldb,
    long long stride_b,  // NOLINT(google-runtime-int)
    const float* beta,
    float* c,
    int ldc,
    long long stride_c,  // NOLINT(google-runtime-int)
    int batch);
SLUICE_API cublasStatus_t
cublasDgemmStridedBatched(cublasHandle_t handle,
                          cublasOperation_t transpose_a,
                          cublasOperation_t transpose_b,
                          int m,
                          int n,
                          int k,
                          const double* alpha,
                          const double* a,
                          int lda,
                          long long stride_a,  // NOLINT(google-runtime-int)
                          const double* b,
                          int ldb,
                          long long stride_b,  // NOLINT(google-runtime-int)
                          const double* beta,
                          double* c,
                          int ldc,
                          long long stride_c,  // NOLINT(google-runtime-int)
                          int batch);

}  // extern "C"

// cuBLAS's own header has the same macros.
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
