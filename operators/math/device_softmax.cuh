#pragma once

#include <limits>

#include "sluice/operators/math/device_rows.cuh"

// Softmax and what comes with it, on CUDA.
namespace sluice::operators::math {

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

  // out = exp(x - maximum) / their sum.
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

  // x_grad = (grad - sum of grad * out) * out.
  template <typename Team>
  __device__ void Backward(const Team& team,
                           const T* out,
                           const T* grad,
                           T* x_grad) const {
    T sum = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      sum += grad[i * inner] * out[i * inner];
    }
    sum = team.All(sum, SumOf());
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      x_grad[i * inner] = (grad[i * inner] - sum) * out[i * inner];
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
    T sum = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      sum += exp(x[i * inner] - most);
    }
    const T log_sum = log(team.All(sum, SumOf()));
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
    T sum = 0;
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      sum += grad[i * inner];
    }
    sum = team.All(sum, SumOf());
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      x_grad[i * inner] = grad[i * inner] - exp(out[i * inner]) * sum;
    }
  }

  template <typename Team>
  __device__ void Clear(const Team& team, T* x_grad) const {
    for (int64_t i = team.First(); i < size; i += Team::kSize) {
      x_grad[i * inner] = 0;
    }
  }
};

}  // namespace sluice::operators::math
