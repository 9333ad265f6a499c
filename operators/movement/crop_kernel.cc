#include "sluice/operators/movement/crop_kernel.h"

#include <algorithm>

#include "sluice/operators/registration.h"
#include "sluice/platform/device_context.h"

namespace sluice {

CropBox::CropBox(const OpKernelConstruction& construction)
    : offsets_(construction.Attr<std::vector<int64_t>>("offsets")) {}

void CropBox::Prepare(const DDim& x, const DDim& box) {
  x_ = x;
  box_ = box;
  x_strides_ = RowMajorStrides(x);
  strides_ = RowMajorStrides(box);
}

int64_t CropBox::First(const OpKernelContext& context) const {
  if (x_.rank() > 0 && context.HasInput("Offsets")) {
    const Tensor& offsets = context.Input("Offsets");
    return offsets.dtype() == DType::kInt32 ? FirstAt(offsets.data<int32_t>())
                                            : FirstAt(offsets.data<int64_t>());
  }
  int64_t first = 0;
  for (size_t axis = 0; axis < offsets_.size(); ++axis) {
    first += offsets_[axis] * x_strides_[axis];
  }
  return first;
}

template <typename Index>
int64_t CropBox::FirstAt(const Index* offsets) const {
  int64_t first = 0;
  for (int axis = 0; axis < x_.rank(); ++axis) {
    const int64_t offset = offsets[axis];
    SLUICE_ENFORCE(offset >= 0, ErrorCode::kOutOfRange,
                   "crop.offset_negative_at_run",
                   "crop: input Offsets[{}] = {} is negative; expected 0 or "
                   "more",
                   axis, offset);
    // The shape function has checked that the box is not larger than X.
    SLUICE_ENFORCE(offset <= x_[axis] - box_[axis], ErrorCode::kOutOfRange,
                   "crop.offset_range_at_run",
                   "crop: input Offsets[{}] = {} puts a box of {} past the end "
                   "of input X (dim {} of {})",
                   axis, offset, box_[axis], axis, x_);
    first += offset * x_strides_[axis];
  }
  return first;
}

void CropBox::CopyRows(const OpKernelContext& context,
                       const void* from,
                       void* to,
                       size_t element_size) const {
  const int outer = std::max(box_.rank() - 1, 0);
  const int64_t row = box_.rank() == 0 ? 1 : box_[outer];
  for (int64_t index = 0; index * row < box_.numel(); ++index) {
    int64_t rest = index;
    int64_t element = 0;
    for (int axis = outer - 1; axis >= 0; --axis) {
      element += rest % box_[axis] * x_strides_[axis];
      rest /= box_[axis];
    }
    context.device_context().CopyOnDevice(
        static_cast<char*>(to) + index * row * element_size,
        static_cast<const char*>(from) + element * element_size,
        row * element_size);
  }
}

REGISTER_OP_CPU_KERNEL(crop, CropAnyKernel);
REGISTER_OP_CPU_KERNEL(crop_grad,
                       CropGradKernel<CPUDeviceContext, FloatAndHalfTypes>);

}  // namespace sluice
