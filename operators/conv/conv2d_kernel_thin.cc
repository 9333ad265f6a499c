#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/math/conv/conv2d_thin.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice::operators {
namespace {

// With more channels, it pays to store patches for a product of matrices.
constexpr int64_t kThin = 4;

class ThinMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               math::Conv2dDirection /*direction*/,
               size_t element) {
    plan_ = math::PlanConv2dThin(Conv2dGeometryOf(preparation.query));
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const math::Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* scratch) const {
    math::Conv2dThinGradFilter(plan_, input, grad, filter_grad, scratch);
  }

 private:
  math::Conv2dThinPlan plan_;
};

std::string ThinInput(const KernelQuery& query) {
  const math::Conv2dGeometry g = Conv2dGeometryOf(query);
  if (math::FitsConv2dThin(g) && g.in_c <= kThin) return "";
  return platform::Format(
      "needs NHWC, one group, no dilation and at most {} input channels, got "
      "{} in {} groups",
      kThin, g.in_c, g.groups);
}

KernelWork ThinWork(const KernelQuery& query) {
  return math::Conv2dThinWork(Conv2dGeometryOf(query),
                              platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d_grad_filter,
                   PLAIN,
                   CPUPlace,
                   thin,
                   KernelTraits().Estimate(&ThinWork).When(&ThinInput),
                   Conv2dGradFilterKernel<ThinMethod, Floats>);

}  // namespace sluice::operators
