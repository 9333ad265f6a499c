#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/math/conv/conv2d_direct.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice {
namespace {

// With fewer channels a group, products are thin matrices.
constexpr int64_t kThinGroup = 4;

class DirectMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection direction,
               size_t element) {
    geometry_ = Conv2dGeometryOf(preparation.query);
    if (direction != Conv2dDirection::kForward) return;
    preparation.scratch_bytes =
        static_cast<size_t>(Conv2dDirectScratch(geometry_)) * element;
  }
  const Conv2dGeometry& geometry() const { return geometry_; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    Conv2dDirect(geometry_, input, filter, bias, output,
                 static_cast<T*>(scratch));
  }
  template <typename T>
  void GradInput(const T* filter,
                 const T* grad,
                 T* input_grad,
                 void* /*scratch*/) const {
    Conv2dDirectGradInput(geometry_, filter, grad, input_grad);
  }
  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* /*scratch*/) const {
    Conv2dDirectGradFilter(geometry_, input, grad, filter_grad);
  }

 private:
  Conv2dGeometry geometry_;
};

std::string ThinGroups(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (g.groups > 1 && g.group_in_c() < kThinGroup &&
      g.group_out_c() < kThinGroup) {
    return "";
  }
  return Format("needs groups of fewer than {} channels, got {} to {}",
                kThinGroup, g.group_in_c(), g.group_out_c());
}

template <Conv2dDirection kDirection>
KernelWork DirectWork(const KernelQuery& query) {
  return Conv2dDirectWork(Conv2dGeometryOf(query), kDirection,
                          SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<Conv2dDirection::kForward>)
                       .When(&ThinGroups),
                   Conv2dKernel<DirectMethod, FloatTypes>);
REGISTER_OP_KERNEL(conv2d_grad_input,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<Conv2dDirection::kGradInput>)
                       .When(&ThinGroups),
                   Conv2dGradInputKernel<DirectMethod, FloatTypes>);
REGISTER_OP_KERNEL(conv2d_grad_filter,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<Conv2dDirection::kGradFilter>)
                       .When(&ThinGroups),
                   Conv2dGradFilterKernel<DirectMethod, FloatTypes>);

}  // namespace sluice
