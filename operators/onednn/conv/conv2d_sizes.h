#pragma once

#include "sluice/framework/op/registry.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/onednn/sequence.h"

namespace sluice::onednn {

// The variants of a convolution: the layout of its images during the
// computation. The sizes and the direction decide which one is fastest.
enum class ConvVariant : uint8_t { kDirect, kChannelsLast, kBlocked };
struct Direct {  // the layout that the op has
  static constexpr auto kVariant = ConvVariant::kDirect;
};
struct ChannelsLast {  // NCHW to NHWC and back
  static constexpr auto kVariant = ConvVariant::kChannelsLast;
};
struct Blocked {  // the layout that oneDNN prefers
  static constexpr auto kVariant = ConvVariant::kBlocked;
};

// The sizes of a convolution in oneDNN's terms.
struct ConvSizes {
  explicit ConvSizes(const KernelQuery& query)
      : geometry(Conv2dGeometryOf(query)) {}

  const Conv2dGeometry geometry;

  Dims input() const {
    return {geometry.n, geometry.in_c, geometry.in_h, geometry.in_w};
  }
  Dims output() const {
    return {geometry.n, geometry.out_c, geometry.out_h, geometry.out_w};
  }
  Dims filter() const;
  Dims strides() const { return {geometry.stride_h, geometry.stride_w}; }
  // oneDNN counts the pixels between two that are used.
  Dims dilations() const {
    return {geometry.dilation_h - 1, geometry.dilation_w - 1};
  }
  Dims padding_begin() const { return {geometry.pad_top, geometry.pad_left}; }
  Dims padding_end() const { return {geometry.pad_bottom, geometry.pad_right}; }

  // oneDNN processes the input channels of bfloat16 in pairs. It multiplies an
  // odd last channel's neighbour by 0, so that a NaN there affects windows that
  // do not contain it. Its GEMM, which it uses for NCHW, does not.
  bool MixesWindows(DType dtype) const {
    const bool depthwise =
        geometry.group_in_c() == 1 && geometry.group_out_c() == 1;
    return dtype == DType::kBFloat16 && geometry.group_in_c() % 2 == 1 &&
           !(geometry.groups > 1 && depthwise);
  }

  // The op's tensors.
  Desc GivenImage(const Dims& nchw, DType dtype) const {
    return Image(nchw, dtype, geometry.nhwc);
  }
  Desc GivenFilter(DType dtype) const;
  // The tensors that the primitive is requested with.
  Desc WantedImage(const Dims& nchw, DType dtype, ConvVariant variant) const;
  Desc WantedFilter(DType dtype) const {
    return {filter(), ToDnnl(dtype), Tag::any};
  }
};

// Returns the traits of a variant of the convolution ops: its conditions and
// its cost (conv2d_work.h).
KernelTraits ConvTraits(ConvVariant variant);

// The base of the kernels of a variant.
template <typename Variant>
class ConvSequence : public SequenceKernel {
 public:
  static KernelTraits AdaptTraits(const KernelTraits& /*traits*/) {
    return ConvTraits(Variant::kVariant);
  }
};

}  // namespace sluice::onednn
