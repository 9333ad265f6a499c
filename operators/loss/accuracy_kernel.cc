#include <algorithm>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class AccuracyKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& indices = context.Input(0);
    const int64_t rows = indices.dims()[0];
    const int64_t k = indices.dims()[1];
    const auto* predicted = static_cast<const T*>(indices.raw_data());
    const T* label = context.Input(1).data<T>();
    int32_t correct = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const T* first = predicted + row * k;
      correct += std::find(first, first + k, label[row]) != first + k ? 1 : 0;
    }
    const DDim one({1});
    *context.AllocateOutput(0, one).data<float>() = static_cast<float>(
        static_cast<double>(correct) / static_cast<double>(rows));
    *context.AllocateOutput(1, one).data<int32_t>() = correct;
    *context.AllocateOutput(2, one).data<int32_t>() =
        static_cast<int32_t>(rows);
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(accuracy, AccuracyKernel<IndexTypes>);

}  // namespace sluice
