#pragma once

#include <algorithm>
#include <cstring>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/reduction/reduce_sum.h"
#include "sluice/operators/math/strided_copy.h"

namespace sluice::operators {

// The gradient of an operand that a broadcast may have repeated, from terms in
// the shape of the result: these themselves, or sums of them. Planned in
// Prepare, immutable afterwards.
template <typename T>
class OperandGradient {
 public:
  OperandGradient() = default;
  // An operand of shape `dims`, placed at `axis` of `out`. Sums get the other
  // sign where `negative`.
  OperandGradient(const framework::DDim& dims,
                  const framework::DDim& out,
                  int64_t axis,
                  bool negative = false)
      : dims_(dims), count_(out.numel()) {
    const auto repeated = math::RepeatedAxes(dims, out, axis);
    repeated_ =
        std::find(repeated.begin(), repeated.end(), true) != repeated.end();
    if (!repeated_) return;
    plan_ = math::PlanReduce(out, repeated);
    if (negative) plan_.divisor = -1;
  }

  const framework::DDim& dims() const { return dims_; }
  // Whether it is a sum.
  bool repeated() const { return repeated_; }

  // For `scratch` of the functions below. Terms of the shape of the result are
  // not wanted where they can be computed in place.
  size_t scratch_bytes(bool with_terms) const {
    return SumScratch() + (with_terms && repeated_
                               ? static_cast<size_t>(count_) * sizeof(T)
                               : 0);
  }

  // Where to compute the terms.
  T* Terms(T* gradient, void* scratch) const {
    if (!repeated_) return gradient;
    return reinterpret_cast<T*>(static_cast<char*>(scratch) + SumScratch());
  }

  // From the terms, which may stand in `gradient` already.
  void Finish(const T* terms, T* gradient, void* scratch) const {
    if (repeated_) {
      math::ReduceSum(plan_, terms, gradient, scratch);
    } else if (terms != gradient && count_ > 0) {
      math::CopyBytes(terms, gradient, static_cast<size_t>(count_) * sizeof(T));
    }
  }

 private:
  // Rounded up, so that the terms after it are aligned.
  size_t SumScratch() const { return (plan_.scratch_bytes + 63) / 64 * 64; }

  framework::DDim dims_;
  int64_t count_ = 0;
  bool repeated_ = false;
  math::ReducePlan plan_;
};

}  // namespace sluice::operators
