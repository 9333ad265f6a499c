#pragma once

#include <cstdint>

#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Whose functions of a row those of `dtype` are computed with: float32's for
// float16 and bfloat16, int32's for int16 and uint16, int64's for uint32, else
// its own.
SLUICE_API platform::DType ComputedDType(platform::DType dtype);

// A row's function of two tensors of one of its dtypes, over raw memory on the
// CPU, through ParallelFor. float16 and bfloat16 round each result once.
// Immutable, so many threads may run one. Results may be written where an
// operand is that has their size and is not repeated.
class SLUICE_API BinaryFunction {
 public:
  BinaryFunction(const BinaryRow& row, platform::DType dtype);

  // X and Y are of one shape of `count` elements.
  void Same(const void* x, const void* y, int64_t count, void* out) const;
  // In the common shape of `plan`, which has elements.
  void Broadcast(const BroadcastPlan& plan,
                 const void* x,
                 const void* y,
                 void* out) const;

 private:
  // One of the row's loops, from and to halves where they are.
  void Run(decltype(BinaryLoops::both) loop,
           const void* x,
           const void* y,
           int64_t count,
           void* out) const;

  BinaryLoops loops_;
  platform::DType dtype_;
  int64_t size_;      // of an operand's element
  int64_t out_size_;  // of the result's
};

// The terms of an operand's gradient, of one of the float dtypes, in the same
// way: in the shape of Out, for X and Y that `plan` repeats.
class SLUICE_API BinaryGradFunction {
 public:
  BinaryGradFunction() = default;
  // `loops` are x_terms or y_terms of ComputedDType(dtype).
  BinaryGradFunction(const BinaryGradLoops& loops, platform::DType dtype)
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
  platform::DType dtype_ = platform::DType::kFloat32;
};

}  // namespace sluice::operators::math
