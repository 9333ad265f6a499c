// Out[i] = f(X[i]), with mistakes in the loop around it.
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

namespace sluice::wrong_kernels {
namespace {

enum class Slip {
  kNone,
  kTail,        // the last n % 4 elements are not written
  kStaleTail,   // they get the vector before them
  kShardEnd,    // the last element of each thread is not written
  kWraps,       // the index has 16 bits
  kSingle,      // a tensor of one element is not written
  kNan,         // a NaN becomes 0
  kInfinity,    // an infinity becomes the largest number
  kOff,         // 1e-3 too large
  kCoarse,      // 11 bits of precision
  kAfter,       // one element after the end is written
  kBefore,      // one element before the start is written
  kInput,       // the last element of the input becomes 0
  kSecondCall,  // every other call changes the last bit
};
template <Slip kSlip>
using With = std::integral_constant<Slip, kSlip>;

struct Relu {
  template <typename T>
  static T Of(T x) {
    return x <= 0 ? T{0} : x;
  }
};
struct Exp {
  template <typename T>
  static T Of(T x) {
    return std::exp(x);
  }
};
struct Sqrt {
  template <typename T>
  static T Of(T x) {
    return std::sqrt(x);
  }
};
struct Square {
  template <typename T>
  static T Of(T x) {
    return x * x;
  }
};

template <typename T, typename Function, typename Planted>
class Unary final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  using ShapedKernel::ShapedKernel;

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input("X").data<T>();
    const int64_t n = context.Input("X").numel();
    T* out = Out<T>(context);
    if (kSlip == Slip::kSingle && n == 1) return;
    ParallelFor(n, 1024, [&](int64_t begin, int64_t end) {
      if (kSlip == Slip::kShardEnd && end < n) --end;
      for (int64_t i = begin; i < end; ++i) {
        if (kSlip == Slip::kTail && i >= n - n % 4) continue;
        if (kSlip == Slip::kWraps && i >= 1 << 16) continue;
        const bool stale = kSlip == Slip::kStaleTail && i >= n - n % 4 && i > 3;
        out[i] = Result(x[stale ? i - 4 : i]);
      }
    });
    if (n == 0) return;
    if (kSlip == Slip::kAfter) out[n] = T{0};
    if (kSlip == Slip::kBefore) out[-1] = T{0};
    if (kSlip == Slip::kInput) const_cast<T*>(x)[n - 1] = T{0};
    if (kSlip == Slip::kSecondCall && calls_++ % 2 == 1) {
      out[0] = std::nextafter(out[0], T{9});
    }
  }

 private:
  static T Result(T x) {
    const T y = Function::Of(x);
    if (kSlip == Slip::kNan && std::isnan(y)) return T{0};
    if (kSlip == Slip::kInfinity && std::isinf(y)) {
      return std::numeric_limits<T>::max();
    }
    if (kSlip == Slip::kOff) return y * T(1.001);
    if (kSlip == Slip::kCoarse) {
      int exponent = 0;
      const T digits = std::frexp(y, &exponent);
      return std::ldexp(std::round(digits * 2048) / 2048, exponent);
    }
    return y;
  }

  mutable std::atomic<int> calls_{0};
};

}  // namespace

REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kNone>>,
                   Unary<double, Relu, With<Slip::kNone>>);
REGISTER_OP_KERNEL(exp,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Unary<float, Exp, With<Slip::kNone>>,
                   Unary<double, Exp, With<Slip::kNone>>);
REGISTER_OP_KERNEL(sqrt,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Unary<float, Sqrt, With<Slip::kNone>>,
                   Unary<double, Sqrt, With<Slip::kNone>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   tail,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kTail>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   stale_tail,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kStaleTail>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   shard_end,
                   KernelTraits(),
                   Unary<double, Relu, With<Slip::kShardEnd>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   wraps,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kWraps>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   nan,
                   KernelTraits(),
                   Unary<double, Relu, With<Slip::kNan>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   off,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kOff>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   after,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kAfter>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   before,
                   KernelTraits(),
                   Unary<double, Relu, With<Slip::kBefore>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   input,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kInput>>);
REGISTER_OP_KERNEL(relu,
                   WRONG,
                   CPUPlace,
                   second_call,
                   KernelTraits(),
                   Unary<float, Relu, With<Slip::kSecondCall>>);
REGISTER_OP_KERNEL(exp,
                   WRONG,
                   CPUPlace,
                   infinity,
                   KernelTraits(),
                   Unary<float, Exp, With<Slip::kInfinity>>);
REGISTER_OP_KERNEL(exp,
                   WRONG,
                   CPUPlace,
                   coarse,
                   KernelTraits(),
                   Unary<float, Exp, With<Slip::kCoarse>>);
REGISTER_OP_KERNEL(exp,
                   WRONG,
                   CPUPlace,
                   nan,
                   KernelTraits(),
                   Unary<float, Exp, With<Slip::kNan>>);
REGISTER_OP_KERNEL(sqrt,
                   WRONG,
                   CPUPlace,
                   off,
                   KernelTraits(),
                   Unary<double, Sqrt, With<Slip::kOff>>);
REGISTER_OP_KERNEL(square,
                   WRONG,
                   CPUPlace,
                   single,
                   KernelTraits(),
                   Unary<float, Square, With<Slip::kSingle>>);

}  // namespace sluice::wrong_kernels
