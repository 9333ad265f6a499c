#pragma once

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/export.h"

namespace sluice {

// The position of crop's box in X, from the attributes, the shapes and the
// offsets of one call. Owned by its kernel; immutable after Prepare.
class SLUICE_API CropBox {
 public:
  explicit CropBox(const OpKernelConstruction& construction);

  // The shapes of X and of the box, from the shape function.
  void Prepare(const DDim& x, const DDim& box);

  const DDim& x_dims() const { return x_; }
  const DDim& dims() const { return box_; }
  const StridedCopy::Strides& x_strides() const { return x_strides_; }
  const StridedCopy::Strides& strides() const { return strides_; }

  // Returns the index in X of the first element of the box. Raises OutOfRange
  // if input Offsets moves a part of the box outside of X.
  int64_t First(const OpKernelContext& context) const;

  // Copies the box whose first element is at `from` to `to` on the context's
  // device, with one copy for each row.
  void CopyRows(const OpKernelContext& context,
                const void* from,
                void* to,
                size_t element_size) const;

 private:
  template <typename Index>
  int64_t FirstAt(const Index* offsets) const;

  std::vector<int64_t> offsets_;
  DDim x_;
  DDim box_;
  StridedCopy::Strides x_strides_{};
  StridedCopy::Strides strides_{};
};

// Copies the box of X to Out on any place. On a device it is a fallback: a
// dedicated kernel needs only one launch.
class CropAnyKernel : public OpKernel {
 public:
  explicit CropAnyKernel(const OpKernelConstruction& construction)
      : box_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    box_.Prepare(query.inputs[0], query.outputs[0]);
    size_ = SizeOf(query.input_dtypes[0]);
    copy_ = StridedCopy(box_.dims(), box_.x_strides(), box_.strides(), size_);
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t first = box_.First(context);
    Tensor& out = context.AllocateOutput(0, box_.dims());
    if (out.numel() == 0) return;
    const char* from = static_cast<const char*>(context.Input(0).raw_data()) +
                       first * static_cast<int64_t>(size_);
    if (context.place().kind == PlaceKind::kCPU) {
      copy_(from, out.raw_data());
    } else {
      box_.CopyRows(context, from, out.raw_data(), size_);
    }
  }

 private:
  CropBox box_;
  StridedCopy copy_;
  size_t size_ = 0;  // element size
};

// CropAnyKernel for one dtype.
template <typename T>
class CropKernel final : public CropAnyKernel {
  using CropAnyKernel::CropAnyKernel;
};

// X@GRAD = Out@GRAD inside the box, 0 elsewhere. The kernel of
// CUDADeviceContext is in crop_kernel.cuh.
template <typename DeviceContext, typename T>
class CropGradKernel;

template <typename T>
class CropGradKernel<CPUDeviceContext, T> final : public OpKernel {
 public:
  explicit CropGradKernel(const OpKernelConstruction& construction)
      : box_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    box_.Prepare(query.inputs[0], query.inputs.back());
    copy_ =
        StridedCopy(box_.dims(), box_.strides(), box_.x_strides(), sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t first = box_.First(context);
    Tensor& grad = context.AllocateOutput(0, box_.x_dims());
    if (grad.numel() == 0) return;
    FillZero(grad.data<T>(), grad.bytes());
    if (box_.dims().numel() == 0) return;
    copy_(context.Input("Out@GRAD").data<T>(), grad.data<T>() + first);
  }

 private:
  CropBox box_;
  StridedCopy copy_;
};

}  // namespace sluice
