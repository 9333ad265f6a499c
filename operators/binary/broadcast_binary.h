#pragma once

#include <cstdint>

#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns the dtype whose loops compute a row for `dtype`: float32 for float16
// and bfloat16, int32 for int16 and uint16, int64 for uint32, otherwise
// `dtype`.
SLUICE_API DType ComputedDType(DType dtype);

// Computes a row's function of two tensors in host memory, in parallel, for one
// of its dtypes. float16 and bfloat16 results are rounded once. Immutable, so
// that many threads may call it at once. Results may overwrite an operand of
// their size that is not broadcast.
class SLUICE_API BinaryFunction {
 public:
  BinaryFunction(const BinaryRow& row, DType dtype);

  // X and Y have the same shape, of `count` elements.
  void Same(const void* x, const void* y, int64_t count, void* out) const;
  // The common shape of `plan` is not empty.
  void Broadcast(const BroadcastPlan& plan,
                 const void* x,
                 const void* y,
                 void* out) const;

 private:
  void BroadcastShortRows(const BroadcastPlan& plan,
                          const void* x,
                          const void* y,
                          void* out) const;
  // Runs a loop of the row, with conversions for float16 and bfloat16.
  void Run(decltype(BinaryLoops::both) loop,
           const void* x,
           const void* y,
           int64_t count,
           void* out) const;

  BinaryLoops loops_;
  DType dtype_;
  int64_t size_;      // of an element of X or Y
  int64_t out_size_;  // of an element of Out
};

// Computes the terms of an operand's gradient in a float dtype. They have the
// shape of Out; `plan` broadcasts X and Y.
class SLUICE_API BinaryGradFunction {
 public:
  BinaryGradFunction() = default;
  // `loops` are the x_terms or y_terms of ComputedDType(dtype).
  BinaryGradFunction(const BinaryGradLoops& loops, DType dtype)
      : loops_(loops), dtype_(dtype) {}

  // Inputs that the row's gradients do not read may be null.
  void Terms(const BroadcastPlan& plan,
             const void* out_grad,
             const void* x,
             const void* y,
             const void* out,
             void* terms) const;

 private:
  BinaryGradLoops loops_;
  DType dtype_ = DType::kFloat32;
};

}  // namespace sluice
