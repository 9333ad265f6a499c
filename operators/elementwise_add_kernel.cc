#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <Eigen/Core>

#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// Below this many elements waking a thread costs more than adding.
constexpr int64_t kGrain = 32768;

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else if constexpr (std::is_same_v<T, platform::float16>) {
    return std::bit_cast<T>(std::bit_cast<Eigen::half>(a) +
                            std::bit_cast<Eigen::half>(b));
  } else if constexpr (std::is_same_v<T, platform::bfloat16>) {
    return std::bit_cast<T>(std::bit_cast<Eigen::bfloat16>(a) +
                            std::bit_cast<Eigen::bfloat16>(b));
  } else {
    return a + b;
  }
}

template <typename T>
void AddContiguous(const T* x, const T* y, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = Sum(x[i], y[i]);
}

template <typename T>
void AddScalar(const T* x, T y, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = Sum(x[i], y);
}

template <typename T>
class ElementwiseAddKernel final : public OpKernel {
 public:
  explicit ElementwiseAddKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& y = preparation.query.inputs[1];
    same_shape_ = x == y;
    plan_ = math::PlanBroadcast(x, y, axis_);
    math::BroadcastShape(x, y, axis_, &out_dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    Tensor& out = context.AllocateOutput("Out", out_dims_);
    const int64_t count = out.numel();
    if (count == 0) return;
    if (!same_shape_) {
      return AddBroadcast(x.data<T>(), y.data<T>(), out.data<T>());
    }
    const T* x_data = x.data<T>();
    const T* y_data = y.data<T>();
    T* out_data = out.data<T>();
    platform::ParallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
      AddContiguous(x_data + begin, y_data + begin, end - begin,
                    out_data + begin);
    });
  }

 private:
  void AddBroadcast(const T* x, const T* y, T* out) const {
    const int64_t row = plan_.row_size();
    const bool repeat_x = plan_.x_steps[plan_.rank - 1] == 0;
    const bool repeat_y = plan_.y_steps[plan_.rank - 1] == 0;
    const auto add = [=](int64_t x_at, int64_t y_at, int64_t out_at) {
      if (repeat_x) {
        AddScalar(y + y_at, x[x_at], row, out + out_at);
      } else if (repeat_y) {
        AddScalar(x + x_at, y[y_at], row, out + out_at);
      } else {
        AddContiguous(x + x_at, y + y_at, row, out + out_at);
      }
    };
    platform::ParallelFor(plan_.row_count(), std::max<int64_t>(1, kGrain / row),
                          [&](int64_t begin, int64_t end) {
                            math::ForEachRow(plan_, begin, end, add);
                          });
  }

  int64_t axis_;
  bool same_shape_ = false;
  math::BroadcastPlan plan_;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(elementwise_add,
                       ElementwiseAddKernel<float>,
                       ElementwiseAddKernel<double>,
                       ElementwiseAddKernel<platform::float16>,
                       ElementwiseAddKernel<platform::bfloat16>,
                       ElementwiseAddKernel<int8_t>,
                       ElementwiseAddKernel<uint8_t>,
                       ElementwiseAddKernel<int32_t>,
                       ElementwiseAddKernel<int64_t>);

}  // namespace sluice::operators
