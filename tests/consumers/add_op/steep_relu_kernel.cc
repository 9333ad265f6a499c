#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/parallel_for.h"

namespace my_ops {
namespace {

using sluice::OpKernel;
using sluice::OpKernelConstruction;
using sluice::OpKernelContext;
using sluice::Tensor;

constexpr int64_t kGrain = 32768;

template <typename T>
class SteepReluKernel final : public OpKernel {
 public:
  explicit SteepReluKernel(const OpKernelConstruction& construction)
      : slope_(static_cast<T>(construction.Attr<double>("slope"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    sluice::ParallelFor(out.numel(), kGrain,
                        [this, from, to](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            to[i] = from[i] > 0 ? from[i] : slope_ * from[i];
                          }
                        });
  }

 private:
  T slope_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(steep_relu,
                       SteepReluKernel<float>,
                       SteepReluKernel<double>);

}  // namespace my_ops
