#include <algorithm>

#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;
using framework::Tensor;

template <typename T>
class TriluKernel final : public framework::OpKernel {
 public:
  explicit TriluKernel(const OpKernelConstruction& construction)
      : upper_(construction.Attr<bool>("upper")),
        k_(construction.Attr<int64_t>("k")) {}

  void Compute(framework::OpKernelContext& context) const override {
    constexpr int64_t kGrain = 32768;
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const int rank = x.dims().rank();
    const int64_t rows = x.dims()[rank - 2], columns = x.dims()[rank - 1];
    // Past these every k does the same.
    const int64_t k = std::clamp(k_, -rows, columns) + (upper_ ? 0 : 1);
    const T* from = x.data<T>();
    T* to = out.data<T>();
    platform::ParallelFor(
        x.numel() / columns, std::max<int64_t>(1, kGrain / columns),
        [=, this](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            // Where the upper triangle begins.
            const int64_t at = std::clamp<int64_t>(row % rows + k, 0, columns);
            const T* in = from + row * columns;
            T* of_row = to + row * columns;
            const int64_t first = upper_ ? at : 0;
            const int64_t last = upper_ ? columns : at;
            std::fill(of_row, of_row + first, T{});
            std::copy(in + first, in + last, of_row + first);
            std::fill(of_row + last, of_row + columns, T{});
          }
        });
  }

 private:
  bool upper_;
  int64_t k_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(trilu,
                       TriluKernel<float>,
                       TriluKernel<double>,
                       TriluKernel<platform::float16>,
                       TriluKernel<platform::bfloat16>,
                       TriluKernel<int8_t>,
                       TriluKernel<uint8_t>,
                       TriluKernel<int32_t>,
                       TriluKernel<int64_t>,
                       TriluKernel<bool>);

}  // namespace sluice::operators
