#include <algorithm>

#include "sluice/operators/indexing/one_hot.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Moves elements of any dtype that has the size of Unit.
template <typename Unit, typename Index>
void Fill(const OneHot& one,
          const Index* index,
          const Unit* values,
          int64_t count,
          Unit* out) {
  ParallelFor(count / one.inner, std::max<int64_t>(1, kGrain / one.inner),
              [=](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const Index* line = index + row / one.depth * one.inner;
                  const int64_t place = row % one.depth;
                  Unit* to = out + row * one.inner;
                  for (int64_t i = 0; i < one.inner; ++i) {
                    const auto value = static_cast<int64_t>(line[i]);
                    const bool on =
                        value == place || value == place - one.depth;
                    to[i] = values[on ? 1 : 0];
                  }
                }
              });
}

template <typename Unit>
void FillOut(const OneHot& one,
             const Tensor& x,
             const Tensor& values,
             Tensor* out) {
  const auto* pair = static_cast<const Unit*>(values.raw_data());
  auto* to = static_cast<Unit*>(out->raw_data());
  VisitIndex(x.dtype(), [&]<typename Index>() {
    Fill(one, x.template data<Index>(), pair, out->numel(), to);
  });
}

class OneHotKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    one_ = OneHot::Of(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& values = context.Input(1);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    switch (SizeOf(values.dtype())) {
      case 1:
        return FillOut<uint8_t>(one_, x, values, &out);
      case 2:
        return FillOut<uint16_t>(one_, x, values, &out);
      case 4:
        return FillOut<uint32_t>(one_, x, values, &out);
      default:
        return FillOut<uint64_t>(one_, x, values, &out);
    }
  }

 private:
  OneHot one_;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(one_hot, OneHotKernel);

}  // namespace sluice
