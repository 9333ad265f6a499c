#pragma once

#include <limits>

#include "sluice/operators/math/device_rows.cuh"

// Softmax, log-softmax and their gradients on CUDA.
namespace sluice {

// A row of a tensor [outer, size, inner].
template <typename T>
struct SoftmaxRow {
  int64_t size;
  int64_t inner;

  __device__ int64_t Begin(int64_t row) const {
    return row / inner * size * inner + row % inner;
  }

  struct Sums {
    T maximum;
    T exponentials;  // the sum of exp(x - maximum)
  };

  // out = exp(x - maximum) / the sum of these.
  template <typename Team>
  __device__ Sums Forward(const Team& team, const T* x, T* out) const {
    T most = -std::numeric_limits<T>::infinity();
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      most = LargerOf()(most, x[i * inner]);
    }
    most = team.All(most, LargerOf());
    T sum = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      const T e = exp(x[i * inner] - most);
      out[i * inner] = e;
      sum += e;
    }
    sum = team.All(sum, SumOf());
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      out[i * inner] /= sum;
    }
    return {most, sum};
  }

  // The functions below compute as softmax.cc does, which gives the reasons.

  // Returns the logarithm of `sum`; `rest` is `sum` without the maximum's 1.
  __device__ static T LogOfSum(T sum, T rest) {
    return sum < T{1.5} ? log1p(rest) : log(sum);
  }

  // Returns the sum of a softmax's elements that are at most 1/2. Each thread
  // reads the elements that it wrote in Forward.
  template <typename Team>
  __device__ T SumOfRest(const Team& team, const T* out) const {
    T sum = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      if (!(out[i * inner] > T{0.5})) sum += out[i * inner];
    }
    return team.All(sum, SumOf());
  }

  // x_grad = (grad - sum of grad * out) * out.
  template <typename Team>
  __device__ void Backward(const Team& team,
                           const T* out,
                           const T* grad,
                           T* x_grad) const {
    T base = 0, products = 0, rest = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      const T y = out[i * inner];
      if (y > T{0.5}) {
        base += grad[i * inner];
      } else {
        products += grad[i * inner] * y;
        rest += y;
      }
    }
    base = team.All(base, SumOf());
    const T sum = team.All(products, SumOf()) - base * team.All(rest, SumOf());
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      const T y = out[i * inner];
      const T apart = y > T{0.5} ? T{0} : grad[i * inner] - base;
      x_grad[i * inner] = (apart - sum) * y;
    }
  }

  // out = x - maximum - the logarithm of the sum of exp(x - maximum).
  template <typename Team>
  __device__ void LogForward(const Team& team, const T* x, T* out) const {
    T most = -std::numeric_limits<T>::infinity();
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      most = LargerOf()(most, x[i * inner]);
    }
    most = team.All(most, LargerOf());
    T sum = 0, rest = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      const T e = exp(x[i * inner] - most);
      sum += e;
      if (x[i * inner] != most) rest += e;
    }
    sum = team.All(sum, SumOf());
    const T log_sum = LogOfSum(sum, team.All(rest, SumOf()));
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      out[i * inner] = x[i * inner] - most - log_sum;
    }
  }

  // x_grad = grad - exp(out) * the sum of grad.
  template <typename Team>
  __device__ void LogBackward(const Team& team,
                              const T* out,
                              const T* grad,
                              T* x_grad) const {
    constexpr T kLogOfHalf = static_cast<T>(-0.693147180559945309);
    T sum = 0, rest = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      sum += grad[i * inner];
      if (!(out[i * inner] > kLogOfHalf)) rest += grad[i * inner];
    }
    sum = team.All(sum, SumOf());
    rest = team.All(rest, SumOf());
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      const T y = out[i * inner];
      const T own = grad[i * inner];
      x_grad[i * inner] = y > kLogOfHalf ? -(expm1(y) * own + exp(y) * rest)
                                         : own - exp(y) * sum;
    }
  }

  template <typename Team>
  __device__ void Clear(const Team& team, T* x_grad) const {
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      x_grad[i * inner] = 0;
    }
  }
};

}  // namespace sluice
