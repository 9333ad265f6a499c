#include <algorithm>

#include "sluice/operators/creation/shape_range.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

struct Sizes {
  int64_t count = 0;
  int64_t of[DDim::kMaxRank] = {};
};

template <typename T>
class ShapeCUDAKernel final : public OpKernel {
 public:
  explicit ShapeCUDAKernel(const OpKernelConstruction& construction)
      : start_(construction.Attr<int64_t>("start")),
        end_(construction.Attr<int64_t>("end")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const ShapeRange range(x.rank(), start_, end_);
    sizes_.count = range.count();
    std::copy(x.begin() + range.begin, x.begin() + range.end, sizes_.of);
  }

  void Compute(OpKernelContext& context) const override {
    auto* const out =
        context.AllocateOutput(0, DDim{sizes_.count}).template data<int64_t>();
    const Sizes sizes = sizes_;
    ForEach(context.device_context<CUDADeviceContext>(), sizes.count,
            [=] __device__(int64_t i) { out[i] = sizes.of[i]; });
  }

 private:
  int64_t start_;
  int64_t end_;
  Sizes sizes_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(shape, ShapeCUDAKernel<NumberAndBoolTypes>);

}  // namespace sluice
