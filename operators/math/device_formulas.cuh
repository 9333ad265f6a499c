#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "sluice/platform/cuda/launch.h"

#define SLUICE_FORMULA __device__
#define SLUICE_HOST_FORMULA __host__ __device__  // the host calls it, too

// The numbers and functions that the formulas of the ops' tables use on CUDA:
// plain float and double. For .cu files only.
namespace sluice {

// The types of a table's rows.
template <class... Row>
struct Rows {};

template <typename T>
__device__ T Select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

template <typename T>
__device__ T Sigmoid(T x) {
  const T small = exp(-fabs(x));  // cannot overflow
  return (x < 0 ? small : T{1}) / (T{1} + small);
}

template <typename T>
__device__ bool IsNormal(T x) {
  const T magnitude = fabs(x);
  return magnitude >= std::numeric_limits<T>::min() &&
         magnitude <= std::numeric_limits<T>::max();
}

#define SLUICE_DEVICE_FUNCTION(Name, function) \
  template <typename T>                        \
  __device__ T Name(T x) {                     \
    return function(x);                        \
  }
SLUICE_DEVICE_FUNCTION(Abs, fabs)
SLUICE_DEVICE_FUNCTION(Sqrt, sqrt)
SLUICE_DEVICE_FUNCTION(Floor, floor)
SLUICE_DEVICE_FUNCTION(Ceil, ceil)
SLUICE_DEVICE_FUNCTION(Round, rint)
SLUICE_DEVICE_FUNCTION(Trunc, trunc)
SLUICE_DEVICE_FUNCTION(Exp, exp)
SLUICE_DEVICE_FUNCTION(Expm1, expm1)
SLUICE_DEVICE_FUNCTION(Log, log)
SLUICE_DEVICE_FUNCTION(Log1p, log1p)
SLUICE_DEVICE_FUNCTION(Tanh, tanh)
SLUICE_DEVICE_FUNCTION(Erf, erf)
SLUICE_DEVICE_FUNCTION(Erfc, erfc)
SLUICE_DEVICE_FUNCTION(Sin, sin)
SLUICE_DEVICE_FUNCTION(Cos, cos)
SLUICE_DEVICE_FUNCTION(Tan, tan)
SLUICE_DEVICE_FUNCTION(Asin, asin)
SLUICE_DEVICE_FUNCTION(Acos, acos)
SLUICE_DEVICE_FUNCTION(Atan, atan)
SLUICE_DEVICE_FUNCTION(Sinh, sinh)
SLUICE_DEVICE_FUNCTION(Cosh, cosh)
SLUICE_DEVICE_FUNCTION(Asinh, asinh)
SLUICE_DEVICE_FUNCTION(Acosh, acosh)
SLUICE_DEVICE_FUNCTION(Atanh, atanh)
#undef SLUICE_DEVICE_FUNCTION

#define SLUICE_DEVICE_FUNCTION_OF_TWO(Name, function) \
  template <typename T>                               \
  __device__ T Name(T x, T y) {                       \
    return function(x, y);                            \
  }
SLUICE_DEVICE_FUNCTION_OF_TWO(Pow, pow)
SLUICE_DEVICE_FUNCTION_OF_TWO(Fmod, fmod)
SLUICE_DEVICE_FUNCTION_OF_TWO(Atan2, atan2)
#undef SLUICE_DEVICE_FUNCTION_OF_TWO

#include "sluice/operators/math/float_formulas.inc"
#include "sluice/operators/math/integer_formulas.inc"

}  // namespace sluice
