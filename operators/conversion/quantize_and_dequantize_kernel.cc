#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/conversion/quantize_and_dequantize.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

constexpr int64_t kGrain = 16384;

// The least and the greatest element; both NaN when there is one.
template <typename C, typename Scalar>
std::pair<C, C> DataRange(const Scalar* data, int64_t count) {
  C least = std::numeric_limits<C>::infinity();
  C greatest = -least;
  bool nan = false;
  std::mutex mutex;
  platform::ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    C low = std::numeric_limits<C>::infinity();
    C high = -low;
    bool unordered = false;
    for (int64_t i = begin; i < end; ++i) {
      const C value = static_cast<C>(data[i]);
      low = value < low ? value : low;
      high = value > high ? value : high;
      unordered |= std::isnan(value);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    least = std::min(least, low);
    greatest = std::max(greatest, high);
    nan |= unordered;
  });
  if (nan) least = greatest = std::numeric_limits<C>::quiet_NaN();
  return {least, greatest};
}

template <typename T>
class QuantizeAndDequantizeKernel final : public OpKernel {
 public:
  using Scalar = math::EigenType<T>;
  using C = math::Computed<T>;

  explicit QuantizeAndDequantizeKernel(const OpKernelConstruction& construction)
      : num_bits_(construction.Attr<int64_t>("num_bits")),
        range_given_(construction.Attr<bool>("range_given")) {
    range_ = math::QuantizeRange<C>::Make(construction.Attr<double>("min"),
                                          construction.Attr<double>("max"),
                                          num_bits_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const int64_t count = x.numel();
    if (count == 0) {
      context.AllocateOutput("Out", x.dims());
      return;
    }
    const auto* in = reinterpret_cast<const Scalar*>(x.data<T>());
    const math::QuantizeRange<C> range =
        range_given_ ? range_ : RangeOf(in, count);
    Tensor& out = context.AllocateOutput("Out", x.dims());
    auto* to = reinterpret_cast<Scalar*>(out.data<T>());
    const Eigen::DefaultDevice& device =
        context.device_context<platform::CPUDeviceContext>().eigen_device();
    platform::ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      math::QuantizeAndDequantizeOneScale<Eigen::DefaultDevice, Scalar, C>()(
          device, in + begin, end - begin, range, to + begin);
    });
  }

 private:
  math::QuantizeRange<C> RangeOf(const Scalar* data, int64_t count) const {
    const auto [least, greatest] = DataRange<C>(data, count);
    const auto range = math::QuantizeRange<C>::Make(least, greatest, num_bits_);
    SLUICE_ENFORCE(range.valid(), ErrorCode::kInvalidArgument,
                   "quantize_and_dequantize.data_range",
                   "quantize_and_dequantize: input X has elements from {} to "
                   "{}, expected finite ones that differ (range_given = false)",
                   static_cast<double>(least), static_cast<double>(greatest));
    return range;
  }

  int64_t num_bits_;
  bool range_given_;
  math::QuantizeRange<C> range_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(quantize_and_dequantize,
                       QuantizeAndDequantizeKernel<float>,
                       QuantizeAndDequantizeKernel<double>,
                       QuantizeAndDequantizeKernel<platform::float16>,
                       QuantizeAndDequantizeKernel<platform::bfloat16>);

}  // namespace sluice::operators
