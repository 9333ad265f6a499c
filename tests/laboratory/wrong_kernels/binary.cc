// Ops of two tensors, one of which may be broadcast; scale and bias_add.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

namespace sluice::wrong_kernels {
namespace {

enum class Slip {
  kNone,
  kRepeats,      // the smaller input is repeated cyclically
  kIgnoresAxis,  // its dims are always the last ones
  kReciprocal,   // a division by a reciprocal of 12 bits
  kBiasFirst,    // (x + bias) * scale, whatever the attribute says
  kLastChannel,  // the channel is always the last dim
};
template <Slip kSlip>
using With = std::integral_constant<Slip, kSlip>;

struct Add {
  template <typename T>
  static T Of(T x, T y) {
    return x + y;
  }
};
struct Multiply {
  template <typename T>
  static T Of(T x, T y) {
    return x * y;
  }
};
struct Divide {
  template <typename T>
  static T Of(T x, T y) {
    return x / y;
  }
};

template <typename T, typename Function, typename Planted>
class Binary final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Binary(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    T* out = Out<T>(context);
    const Ints x_strides = Strides(x.dims());
    const Ints y_strides = Strides(y.dims());
    ParallelFor(dims().numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t at_y = Offset(i, y_strides);
        if (kSlip == Slip::kRepeats) at_y = i % y.numel();
        T b = y.data<T>()[at_y % y.numel()];
        if (kSlip == Slip::kReciprocal) {
          b = 1 / (std::round(4096 / b) / 4096);
        }
        out[i] = Function::Of(x.data<T>()[Offset(i, x_strides)], b);
      }
    });
  }

 private:
  // Strides over the output's dims; 0 where the input is broadcast.
  Ints Strides(const DDim& input) const {
    const int rank = dims().rank();
    const bool last = axis_ < 0 || kSlip == Slip::kIgnoresAxis;
    const int begin = input.rank() == rank ? 0
                      : last               ? rank - input.rank()
                                           : static_cast<int>(axis_);
    Ints strides(static_cast<size_t>(rank), 0);
    int64_t stride = 1;
    for (int axis = input.rank() - 1; axis >= 0; --axis) {
      if (input[axis] != 1) strides[begin + axis] = stride;
      stride *= input[axis];
    }
    return strides;
  }

  int64_t Offset(int64_t element, const Ints& strides) const {
    int64_t offset = 0;
    for (int axis = dims().rank() - 1; axis >= 0; --axis) {
      offset += element % dims()[axis] * strides[axis];
      element /= dims()[axis];
    }
    return offset;
  }

  int64_t axis_;
};

template <typename T, typename Planted>
class Scale final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Scale(const OpKernelConstruction& construction)
      : scale_(static_cast<T>(construction.Attr<double>("scale"))),
        bias_(static_cast<T>(construction.Attr<double>("bias"))),
        after_(construction.Attr<bool>("bias_after_scale") &&
               kSlip != Slip::kBiasFirst) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    T* out = Out<T>(context);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T value = x.data<T>()[i];
      out[i] = after_ ? value * scale_ + bias_ : (value + bias_) * scale_;
    }
  }

 private:
  T scale_;
  T bias_;
  bool after_;
};

template <typename T, typename Planted>
class BiasAdd final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit BiasAdd(const OpKernelConstruction& construction)
      : last_(construction.Attr<std::string>("data_format") == "NHWC" ||
              kSlip == Slip::kLastChannel) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& bias = context.Input("Bias");
    T* out = Out<T>(context);
    const int axis = last_ ? dims().rank() - 1 : 1;
    const int64_t inner = Product(dims(), axis + 1, dims().rank());
    for (int64_t i = 0; i < x.numel(); ++i) {
      out[i] = x.data<T>()[i] + bias.data<T>()[i / inner % bias.numel()];
    }
  }

 private:
  bool last_;
};

}  // namespace

REGISTER_OP_KERNEL(elementwise_add,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Binary<float, Add, With<Slip::kNone>>,
                   Binary<double, Add, With<Slip::kNone>>);
REGISTER_OP_KERNEL(elementwise_add,
                   WRONG,
                   CPUPlace,
                   repeats,
                   KernelTraits(),
                   Binary<float, Add, With<Slip::kRepeats>>);
REGISTER_OP_KERNEL(elementwise_mul,
                   WRONG,
                   CPUPlace,
                   ignores_axis,
                   KernelTraits(),
                   Binary<double, Multiply, With<Slip::kIgnoresAxis>>);
REGISTER_OP_KERNEL(elementwise_div,
                   WRONG,
                   CPUPlace,
                   reciprocal,
                   KernelTraits(),
                   Binary<float, Divide, With<Slip::kReciprocal>>);
REGISTER_OP_KERNEL(scale,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Scale<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(scale,
                   WRONG,
                   CPUPlace,
                   bias_first,
                   KernelTraits(),
                   Scale<float, With<Slip::kBiasFirst>>);
REGISTER_OP_KERNEL(bias_add,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   BiasAdd<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(bias_add,
                   WRONG,
                   CPUPlace,
                   last_channel,
                   KernelTraits(),
                   BiasAdd<float, With<Slip::kLastChannel>>);

}  // namespace sluice::wrong_kernels
