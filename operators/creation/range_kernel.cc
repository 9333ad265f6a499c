#include <algorithm>
#include <type_traits>

#include "sluice/operators/creation/range.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class RangeKernel final : public OpKernel {
 public:
  explicit RangeKernel(const OpKernelConstruction& construction)
      : elements_(construction.Attr<double>("start"),
                  construction.Attr<double>("step")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const int64_t count = dims_.numel();
    if constexpr (std::is_arithmetic_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(elements_[i]);
      }
    } else {
      constexpr int64_t kBlock = 256;
      double block[kBlock];
      for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t size = std::min(kBlock, count - begin);
        for (int64_t i = 0; i < size; ++i) {
          block[i] = elements_[begin + i];
        }
        Cast(block, size, kDTypeOf<T>, out + begin);
      }
    }
  }

 private:
  RangeElements<T> elements_;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(range,
                       RangeKernel<int64_t>,
                       RangeKernel<int32_t>,
                       RangeKernel<FloatAndHalfTypes>);

}  // namespace sluice
