#pragma once

#include <cstdint>
#include <span>

#include "sluice/platform/export.h"

// The table of reductions, Out = f(the elements of X along some dims). This
// header declares the fields of a row. The rows and their formulas are in
// reduction_rows.inc; docs/adding_an_op.md says how to add one.
namespace sluice {

enum class ReductionDTypes : uint8_t {
  kFloats,
  kSums,     // floats, int32, int64 (which wrap around)
  kOrdered,  // all numbers and bool
  kBool,
};

// The inputs of the gradient op besides Out@GRAD; kShape: only X's shape.
enum class ReductionGradient : uint8_t { kNone, kShape, kXAndOut };

struct ReductionInfo {
  const char* name;
  const char* doc;  // "Out = ..."
  ReductionDTypes dtypes = ReductionDTypes::kFloats;
  ReductionGradient gradient = ReductionGradient::kXAndOut;
  const char* gradient_doc = "";  // "X@GRAD = ..."
  // The result for `count` terms, and its derivatives by each of them, given
  // the result `out`. They are independent of the formulas and test them.
  double (*reference)(const double* x, int64_t count);
  void (*derivatives)(const double* x,
                      int64_t count,
                      double out,
                      double* d) = nullptr;
  // The ONNX op that computes the same, and the PyTorch expression in X, dim
  // and keep_dim that does; "" for none.
  const char* onnx = "";
  const char* torch = "";
};

// Returns the info of all rows, which is never freed. Thread-safe.
SLUICE_API std::span<const ReductionInfo> Reductions();

}  // namespace sluice
