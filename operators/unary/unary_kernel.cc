#include <algorithm>
#include <string_view>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/unary_params.h"
#include "sluice/platform/parallel_for.h"

// The kernels of all unary ops: the op's name selects a row of math/unary's
// tables. float16 and bfloat16 are computed in float32.
namespace sluice {
namespace {

constexpr int64_t kUnaryGrain = 16384;
constexpr int64_t kHalfBlock = 256;

template <typename T>
void WidenAll(const T* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Widen(from[i]);
  }
}

template <typename T>
void NarrowAll(const float* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Narrow<T>(from[i]);
  }
}

// Computes Out = f(X).
template <typename T>
class UnaryKernel final : public OpKernel {
 public:
  explicit UnaryKernel(const OpKernelConstruction& construction) {
    const UnaryRow& row = *FindUnaryRow(construction.op());
    function_ = row.Loops<Computed<T>>().forward;
    params_ = ReadUnaryParams(row.info, construction);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    ParallelFor(out.numel(), kUnaryGrain,
                [this, from, to](int64_t begin, int64_t end) {
                  Range(from + begin, end - begin, to + begin);
                });
  }

 private:
  void Range(const T* from, int64_t count, T* to) const {
    if constexpr (kIsHalf<T>) {
      float values[kHalfBlock];
      while (count > 0) {
        const int64_t block = std::min(count, kHalfBlock);
        WidenAll(from, block, values);
        function_(values, block, params_, values);
        NarrowAll(values, block, to);
        from += block;
        to += block;
        count -= block;
      }
    } else {
      function_(from, count, params_, to);
    }
  }

  decltype(UnaryLoops<Computed<T>>::forward) function_;
  UnaryParams params_;
};

// Computes X@GRAD = Out@GRAD * f'(X) from input 0, which is X or Out.
template <typename T>
class UnaryGradKernel final : public OpKernel {
 public:
  explicit UnaryGradKernel(const OpKernelConstruction& construction) {
    std::string_view name = construction.op();
    name.remove_suffix(std::string_view("_grad").size());
    const UnaryRow& row = *FindUnaryRow(name);
    function_ = row.Loops<Computed<T>>().gradient;
    params_ = ReadUnaryParams(row.info, construction);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(1);
    Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    if (x_grad.numel() == 0) return;
    const T* seen = context.Input(0).template data<T>();
    const T* from = out_grad.data<T>();
    T* to = x_grad.data<T>();
    ParallelFor(x_grad.numel(), kUnaryGrain,
                [this, seen, from, to](int64_t begin, int64_t end) {
                  Range(seen + begin, from + begin, end - begin, to + begin);
                });
  }

 private:
  void Range(const T* seen, const T* from, int64_t count, T* to) const {
    if constexpr (kIsHalf<T>) {
      float values[kHalfBlock];
      float grads[kHalfBlock];
      while (count > 0) {
        const int64_t block = std::min(count, kHalfBlock);
        WidenAll(seen, block, values);
        WidenAll(from, block, grads);
        function_(values, grads, block, params_, grads);
        NarrowAll(grads, block, to);
        seen += block;
        from += block;
        to += block;
        count -= block;
      }
    } else {
      function_(seen, from, count, params_, to);
    }
  }

  decltype(UnaryLoops<Computed<T>>::gradient) function_;
  UnaryParams params_;
};

void AddUnaryKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const UnaryRow& row : UnaryRows()) {
    const std::string name = row.info.name;
    AddPlainKernels<UnaryKernel<FloatAndHalfTypes>>(registry, name, cpu);
    if (row.info.dtypes == UnaryDTypes::kSignedNumbers) {
      AddPlainKernels<UnaryKernel<int8_t>, UnaryKernel<IndexTypes>>(registry,
                                                                    name, cpu);
    }
    AddPlainKernels<UnaryGradKernel<FloatAndHalfTypes>>(registry,
                                                        name + "_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(unary_kernels, AddUnaryKernels);

}  // namespace sluice
