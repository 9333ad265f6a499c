#pragma once

#include <cstdint>
#include <span>

#include "sluice/platform/export.h"

// The table of reductions, Out = f(the elements of X along some dims): what one
// row says. The rows, with their formulas, are in reduction_rows.inc;
// design/adding_an_op.md says how to add one.
namespace sluice::operators::math {

enum class ReductionDTypes : uint8_t {
  kFloats,
  kSums,     // floats, int32 and int64, which wrap around
  kOrdered,  // all numbers, and bool
  kBool,
};

// What the gradient op reads besides Out@GRAD; kShape: X's shape alone.
enum class ReductionGradient : uint8_t { kNone, kShape, kXAndOut };

struct ReductionInfo {
  const char* name;
  const char* doc;  // "Out = ..."
  ReductionDTypes dtypes = ReductionDTypes::kFloats;
  ReductionGradient gradient = ReductionGradient::kXAndOut;
  const char* gradient_doc = "";  // "X@GRAD = ..."
  // The result for `count` terms, and its derivatives by each of them, where
  // `out` is the result: written independently of the formulas, to test them
  // with.
  double (*reference)(const double* x, int64_t count);
  void (*derivatives)(const double* x,
                      int64_t count,
                      double out,
                      double* d) = nullptr;
  // The op of ONNX that computes the same, and the expression in X, dim and
  // keep_dim that does in PyTorch; "" for none.
  const char* onnx = "";
  const char* torch = "";
};

// What all rows say; it lives as long as the process. Thread-safe.
SLUICE_API std::span<const ReductionInfo> Reductions();

}  // namespace sluice::operators::math
