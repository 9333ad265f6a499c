#pragma once

#include <algorithm>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/activations.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {

namespace internal {

constexpr int64_t kUnaryGrain = 16384;
constexpr int64_t kHalfBlock = 256;

template <typename T>
void WidenAll(const T* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = math::Widen(from[i]);
  }
}

template <typename T>
void NarrowAll(const float* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = math::Narrow<T>(from[i]);
  }
}

}  // namespace internal

// Out = op(X); halves are computed in float. Each op names a kernel of its own
// that fixes `op`.
template <typename T>
class UnaryKernel : public framework::OpKernel {
 public:
  explicit UnaryKernel(math::UnaryOp op) : op_(op) {}

  void Compute(framework::OpKernelContext& context) const override {
    const framework::Tensor& x = context.Input(0);
    framework::Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    platform::ParallelFor(out.numel(), internal::kUnaryGrain,
                          [this, from, to](int64_t begin, int64_t end) {
                            Range(from + begin, end - begin, to + begin);
                          });
  }

 private:
  void Range(const T* from, int64_t count, T* to) const {
    if constexpr (math::kIsHalf<T>) {
      float values[internal::kHalfBlock];
      while (count > 0) {
        const int64_t block = std::min(count, internal::kHalfBlock);
        internal::WidenAll(from, block, values);
        math::UnaryContiguous(op_, values, block, values);
        internal::NarrowAll(values, block, to);
        from += block;
        to += block;
        count -= block;
      }
    } else {
      math::UnaryContiguous(op_, from, count, to);
    }
  }

  math::UnaryOp op_;
};

// X@GRAD = Out@GRAD * op'(X); input 0 is what the derivative is written with.
template <typename T>
class UnaryGradKernel : public framework::OpKernel {
 public:
  explicit UnaryGradKernel(math::UnaryOp op) : op_(op) {}

  void Compute(framework::OpKernelContext& context) const override {
    const framework::Tensor& out_grad = context.Input(1);
    framework::Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    if (x_grad.numel() == 0) return;
    const T* seen = context.Input(0).template data<T>();
    const T* from = out_grad.data<T>();
    T* to = x_grad.data<T>();
    platform::ParallelFor(x_grad.numel(), internal::kUnaryGrain,
                          [this, seen, from, to](int64_t begin, int64_t end) {
                            Range(seen + begin, from + begin, end - begin,
                                  to + begin);
                          });
  }

 private:
  void Range(const T* seen, const T* from, int64_t count, T* to) const {
    if constexpr (math::kIsHalf<T>) {
      float values[internal::kHalfBlock];
      float grads[internal::kHalfBlock];
      while (count > 0) {
        const int64_t block = std::min(count, internal::kHalfBlock);
        internal::WidenAll(seen, block, values);
        internal::WidenAll(from, block, grads);
        math::UnaryGradContiguous(op_, values, grads, block, grads);
        internal::NarrowAll(grads, block, to);
        seen += block;
        from += block;
        to += block;
        count -= block;
      }
    } else {
      math::UnaryGradContiguous(op_, seen, from, count, to);
    }
  }

  math::UnaryOp op_;
};

}  // namespace sluice::operators
