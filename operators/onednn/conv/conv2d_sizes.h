#pragma once

#include "sluice/framework/op/registry.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/onednn/sequence.h"

namespace sluice::operators::onednn {

// How a convolution's images lie while it computes. Each is a variant of its
// own, as which one is the fastest depends on the sizes and the direction.
enum class ConvLayout : uint8_t { kAsGiven, kChannelsLast, kBlocked };
struct AsGiven {  // variant "direct"
  static constexpr auto kLayout = ConvLayout::kAsGiven;
};
struct ChannelsLast {  // variant "channels_last": NCHW goes to NHWC and back
  static constexpr auto kLayout = ConvLayout::kChannelsLast;
};
struct Blocked {  // variant "blocked": as oneDNN likes it best
  static constexpr auto kLayout = ConvLayout::kBlocked;
};

// A convolution in oneDNN's words.
struct ConvSizes {
  explicit ConvSizes(const framework::KernelQuery& query)
      : geometry(Conv2dGeometryOf(query)) {}

  const math::Conv2dGeometry geometry;

  Dims input() const {
    return {geometry.n, geometry.in_c, geometry.in_h, geometry.in_w};
  }
  Dims output() const {
    return {geometry.n, geometry.out_c, geometry.out_h, geometry.out_w};
  }
  Dims filter() const;
  Dims strides() const { return {geometry.stride_h, geometry.stride_w}; }
  // oneDNN counts the pixels that are left out.
  Dims dilations() const {
    return {geometry.dilation_h - 1, geometry.dilation_w - 1};
  }
  Dims padding_begin() const { return {geometry.pad_top, geometry.pad_left}; }
  Dims padding_end() const { return {geometry.pad_bottom, geometry.pad_right}; }

  // oneDNN takes the input channels of bfloat16 in pairs. An odd last one is
  // multiplied by 0 with the channel or pixel that follows, so that a NaN gets
  // to windows that do not have it. Its GEMM, which it has for NCHW, does not.
  bool MixesWindows(platform::DType dtype) const {
    const bool depthwise =
        geometry.group_in_c() == 1 && geometry.group_out_c() == 1;
    return dtype == platform::DType::kBFloat16 &&
           geometry.group_in_c() % 2 == 1 &&
           !(geometry.groups > 1 && depthwise);
  }

  // The tensors as the op has them.
  Desc GivenImage(const Dims& nchw, platform::DType dtype) const {
    return Image(nchw, dtype, geometry.nhwc);
  }
  Desc GivenFilter(platform::DType dtype) const;
  // What the primitive is asked for.
  Desc WantedImage(const Dims& nchw,
                   platform::DType dtype,
                   ConvLayout layout) const;
  Desc WantedFilter(platform::DType dtype) const {
    return {filter(), ToDnnl(dtype), Tag::any};
  }
};

// A variant for the convolution ops in this layout: what it takes, and its
// estimate (conv2d_work.h).
framework::KernelTraits ConvTraits(ConvLayout layout);

}  // namespace sluice::operators::onednn
