#pragma once

#include <algorithm>
#include <cstring>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/reduction/reduce_sum.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/platform/alignment.h"

namespace sluice {

// The gradient of an operand that may be broadcast. It is computed from terms
// of the result's shape: it equals them, or it is a sum of them. Prepare plans
// it; it is immutable afterwards.
template <typename T>
class OperandGradient {
 public:
  OperandGradient() = default;
  // The operand has shape `dims` and is aligned with dimension `axis` of `out`.
  // With `negative`, sums are negated.
  OperandGradient(const DDim& dims,
                  const DDim& out,
                  int64_t axis,
                  bool negative = false)
      : dims_(dims), count_(out.numel()) {
    const auto repeated = RepeatedAxes(dims, out, axis);
    repeated_ =
        std::find(repeated.begin(), repeated.end(), true) != repeated.end();
    if (!repeated_) return;
    plan_ = PlanReduce(out, repeated);
    if (negative) plan_.divisor = -1;
  }

  const DDim& dims() const { return dims_; }
  // Whether the gradient is a sum.
  bool repeated() const { return repeated_; }

  // The size of `scratch` for the functions below. Terms need space there only
  // if they cannot be computed in the gradient itself.
  size_t scratch_bytes(bool with_terms) const {
    return SumScratch() + (with_terms && repeated_
                               ? static_cast<size_t>(count_) * sizeof(T)
                               : 0);
  }

  // Returns the buffer that the terms are to be written to.
  T* Terms(T* gradient, void* scratch) const {
    if (!repeated_) return gradient;
    return reinterpret_cast<T*>(static_cast<char*>(scratch) + SumScratch());
  }

  // Computes the gradient from the terms. `terms` may be equal to `gradient`.
  void Finish(const T* terms, T* gradient, void* scratch) const {
    if (repeated_) {
      ReduceSum(plan_, terms, gradient, scratch);
    } else if (terms != gradient && count_ > 0) {
      CopyBytes(terms, gradient, static_cast<size_t>(count_) * sizeof(T));
    }
  }

 private:
  // The size is rounded up to align the terms after it.
  size_t SumScratch() const { return AlignUp(plan_.scratch_bytes); }

  DDim dims_;
  int64_t count_ = 0;
  bool repeated_ = false;
  ReducePlan plan_;
};

}  // namespace sluice
