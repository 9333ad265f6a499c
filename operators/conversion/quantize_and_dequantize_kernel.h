#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "sluice/operators/math/conversion/quantize_range.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

// The CPU kernels of quantize_and_dequantize, for .cc files only.
namespace sluice {

inline constexpr int64_t kQuantizeGrain = 16384;

// Returns the least and the greatest element. Both are NaN if any element is.
template <typename C, typename T>
std::pair<C, C> QuantizedDataRange(const T* data, int64_t count) {
  C least = std::numeric_limits<C>::infinity();
  C greatest = -least;
  bool nan = false;
  std::mutex mutex;
  ParallelFor(count, kQuantizeGrain, [&](int64_t begin, int64_t end) {
    C low = std::numeric_limits<C>::infinity();
    C high = -low;
    bool unordered = false;
    for (int64_t i = begin; i < end; ++i) {
      const C value = Widen(data[i]);
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

// `Quantize` computes `count` elements:
//   static void Run(const T* x, int64_t count, const QuantizeRange<C>&,
//                   T* out);
template <typename T, typename Quantize>
class QuantizeAndDequantizeKernel final : public OpKernel {
 public:
  using C = Computed<T>;

  explicit QuantizeAndDequantizeKernel(const OpKernelConstruction& construction)
      : num_bits_(construction.Attr<int64_t>("num_bits")),
        range_given_(construction.Attr<bool>("range_given")) {
    range_ =
        QuantizeRange<C>::Make(construction.Attr<double>("min"),
                               construction.Attr<double>("max"), num_bits_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const int64_t count = x.numel();
    if (count == 0) {
      context.AllocateOutput("Out", x.dims());
      return;
    }
    const T* in = x.data<T>();
    const QuantizeRange<C> range = range_given_ ? range_ : RangeOf(in, count);
    T* out = context.AllocateOutput("Out", x.dims()).template data<T>();
    ParallelFor(count, kQuantizeGrain, [&](int64_t begin, int64_t end) {
      Quantize::Run(in + begin, end - begin, range, out + begin);
    });
  }

 private:
  QuantizeRange<C> RangeOf(const T* data, int64_t count) const {
    const auto [least, greatest] = QuantizedDataRange<C>(data, count);
    const auto range = QuantizeRange<C>::Make(least, greatest, num_bits_);
    SLUICE_ENFORCE(range.valid(), ErrorCode::kInvalidArgument,
                   "quantize_and_dequantize.data_range",
                   "quantize_and_dequantize: input X has elements from {} to "
                   "{}, expected finite ones that differ (range_given = false)",
                   static_cast<double>(least), static_cast<double>(greatest));
    return range;
  }

  int64_t num_bits_;
  bool range_given_;
  QuantizeRange<C> range_;
};

}  // namespace sluice
