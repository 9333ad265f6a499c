#include <algorithm>

#include "sluice/operators/creation/shape_range.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class ShapeKernel final : public OpKernel {
 public:
  explicit ShapeKernel(const OpKernelConstruction& construction)
      : start_(construction.Attr<int64_t>("start")),
        end_(construction.Attr<int64_t>("end")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_ = preparation.query.inputs[0];
    range_ = ShapeRange(x_.rank(), start_, end_);
  }

  void Compute(OpKernelContext& context) const override {
    auto* const out =
        context.AllocateOutput(0, DDim{range_.count()}).data<int64_t>();
    std::copy(x_.begin() + range_.begin, x_.begin() + range_.end, out);
  }

 private:
  int64_t start_;
  int64_t end_;
  DDim x_;
  ShapeRange range_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(shape, ShapeKernel);

}  // namespace sluice
