#include "sluice/operators/math/work.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

size_t WorkVectorBytes() {
  return hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<uint8_t>());
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {

HWY_EXPORT(WorkVectorBytes);

int64_t VectorLanes(size_t element) {
  // Without vector instructions a vector has one byte, less than an element.
  const size_t bytes = HWY_DYNAMIC_DISPATCH(WorkVectorBytes)();
  return static_cast<int64_t>(std::max<size_t>(bytes / element, 1));
}

}  // namespace sluice
#endif  // HWY_ONCE
