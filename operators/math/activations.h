#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice::operators::math {

enum class UnaryOp : uint8_t {
  kAbs,
  kExp,
  kLog,
  kRelu,
  kSigmoid,
  kSqrt,
  kSquare,
  kTanh,
};

// The functions below work on the calling thread, with the best instruction
// set that the CPU has. T is float or double. `out` may be an input itself, but
// not overlap it otherwise. Where an element stands does not change its bits.

// out[i] = op(x[i]), exp, log, sigmoid and tanh within 4 units in the last
// place. relu(NaN) is NaN.
template <typename T>
SLUICE_API void UnaryContiguous(UnaryOp op, const T* x, int64_t count, T* out);

// x_grad[i] = out_grad[i] * op'(x[i]). `seen` is what the derivative is written
// with: x for abs, log and square, op(x) for the others. 0 where abs and relu
// have none.
template <typename T>
SLUICE_API void UnaryGradContiguous(
    UnaryOp op, const T* seen, const T* out_grad, int64_t count, T* x_grad);

}  // namespace sluice::operators::math
