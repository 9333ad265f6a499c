#include "sluice/operators/math/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class UniformRandomKernel final : public OpKernel {
 public:
  explicit UniformRandomKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        min_(construction.Attr<double>("min")),
        max_(construction.Attr<double>("max")),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    FillUniform({seed_, op_, context.step()}, min_, max_, out.numel(),
                out.data<T>());
  }

 private:
  DDim dims_;
  double min_;
  double max_;
  uint64_t seed_;
  uint32_t op_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(uniform_random, UniformRandomKernel<FloatTypes>);

}  // namespace sluice
