#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class AssignValueKernel final : public OpKernel {
 public:
  explicit AssignValueKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        values_(construction.Attr<std::vector<double>>("values")),
        ints_(construction.Attr<std::vector<int64_t>>("int_values")) {}

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    if (ints_.empty()) {
      Cast(values_.data(), out.numel(), out.dtype(), out.raw_data());
    } else {
      Cast(ints_.data(), out.numel(), out.dtype(), out.raw_data());
    }
  }

 private:
  DDim dims_;
  std::vector<double> values_;
  std::vector<int64_t> ints_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(assign_value, AssignValueKernel);

}  // namespace sluice
