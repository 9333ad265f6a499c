#include <limits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// Converts as operators/math/cast.h specifies, without float16 and bfloat16.
template <typename To, typename From>
__device__ To CastOne(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    // A From can represent 2^bits, but possibly not the largest To.
    constexpr int kBits = std::numeric_limits<To>::digits;
    constexpr auto kEnd =
        static_cast<From>(uint64_t{1} << (kBits - 1)) * From{2};
    constexpr From kFirst = std::is_signed_v<To> ? -kEnd : From{0};
    constexpr To kLargest = std::numeric_limits<To>::max();
    constexpr To kSmallest = std::numeric_limits<To>::min();
    if (value != value) return 0;
    if (value >= kEnd) return kLargest;
    if (value <= kFirst) return kSmallest;
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void Cast(OpKernelContext& context, const Tensor& input, Tensor* output) {
  const From* from = input.data<From>();
  To* to = output->data<To>();
  ForEach(context.device_context<CUDADeviceContext>(), output->numel(),
          [=] __device__(int64_t i) { to[i] = CastOne<To>(from[i]); });
}

// dtypes without arithmetic on a device are left to the CPU.
template <typename T>
inline constexpr bool kOnDevice = kDTypeOf<T> <= DType::kBool && !kIsHalf<T>;

std::string Fits(const KernelQuery& query) {
  for (const DType dtype : {query.output_dtypes[0], query.input_dtypes[0],
                            query.input_dtypes.back()}) {
    const bool has =
        VisitDType(dtype, []<typename T>() { return kOnDevice<T>; });
    if (!has) {
      return Format("has no {}", dtype);
    }
  }
  return "";
}

template <typename T>
class CastCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    VisitDType(out.dtype(), [&]<typename To>() {
      if constexpr (kOnDevice<To>) Cast<T, To>(context, x, &out);
    });
  }
};

// T is the dtype of X and of its gradient. Out may have any float dtype.
template <typename T>
class CastGradCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(1);
    Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    VisitDType(out_grad.dtype(), [&]<typename From>() {
      if constexpr (std::is_floating_point_v<From>) {
        Cast<From, T>(context, out_grad, &x_grad);
      }
    });
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(
    cast,
    TakenWhen<&Fits>,
    CastCUDAKernel<JoinTypes<FloatAndIntegerTypes, DTypeSet<bool>>>);
REGISTER_OP_CUDA_KERNEL(cast_grad,
                        TakenWhen<&Fits>,
                        CastGradCUDAKernel<FloatTypes>);

}  // namespace sluice
