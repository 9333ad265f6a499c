#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/math/conv/conv2d_thin.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice {
namespace {

// With more channels, it pays to store patches for a product of matrices.
constexpr int64_t kThin = 4;

class ThinMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection /*direction*/,
               size_t element) {
    plan_ = PlanConv2dThin(Conv2dGeometryOf(preparation.query));
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* scratch) const {
    Conv2dThinGradFilter(plan_, input, grad, filter_grad, scratch);
  }

 private:
  Conv2dThinPlan plan_;
};

std::string ThinInput(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (FitsConv2dThin(g) && g.in_c <= kThin) return "";
  return Format(
      "needs NHWC, one group, no dilation and at most {} input channels, got "
      "{} in {} groups",
      kThin, g.in_c, g.groups);
}

KernelWork ThinWork(const KernelQuery& query) {
  return Conv2dThinWork(Conv2dGeometryOf(query), SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d_grad_filter,
                   PLAIN,
                   CPUPlace,
                   thin,
                   KernelTraits().Estimate(&ThinWork).When(&ThinInput),
                   Conv2dGradFilterKernel<ThinMethod, FloatTypes>);

}  // namespace sluice
