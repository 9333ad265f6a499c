#include <type_traits>

#include "sluice/operators/math/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T, typename Truncated>
class GaussianRandomKernel final : public OpKernel {
 public:
  explicit GaussianRandomKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        mean_(construction.Attr<double>("mean")),
        std_(construction.Attr<double>("std")),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const auto fill =
        Truncated::value ? &FillTruncatedNormal<T> : &FillNormal<T>;
    fill({seed_, op_, context.step()}, mean_, std_, out.numel(), out.data<T>());
  }

 private:
  DDim dims_;
  double mean_;
  double std_;
  uint64_t seed_;
  uint32_t op_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(gaussian_random,
                       GaussianRandomKernel<FloatTypes, std::false_type>);
REGISTER_OP_CPU_KERNEL(truncated_gaussian_random,
                       GaussianRandomKernel<FloatTypes, std::true_type>);

}  // namespace sluice
