#pragma once

#include <string_view>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"

// What the shape functions of convolutions and pooling check: windows that
// slide over the height and the width of a tensor.
namespace sluice::operators {

// One of the two dimensions. Sizes are -1 while unknown.
struct WindowAxis {
  std::string_view name;
  int64_t kernel = -1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
};

// The two entries of attribute `name`.
inline const std::vector<int64_t>& WindowPair(
    const framework::InferShapeContext& context, std::string_view name) {
  const auto& pair = context.Attr<std::vector<int64_t>>(name);
  context.Require(pair.size() == 2, "window.pair",
                  "attribute {} has {} entries; expected 2: height and width",
                  name, pair.size());
  return pair;
}

// Height and width with strides and paddings read and checked; the paddings
// may be [height, width] or [top, bottom, left, right].
inline std::vector<WindowAxis> WindowAxes(
    const framework::InferShapeContext& context) {
  const auto& strides = WindowPair(context, "strides");
  const auto& paddings = context.Attr<std::vector<int64_t>>("paddings");
  const bool four = paddings.size() == 4;
  context.Require(four || paddings.size() == 2, "window.paddings",
                  "attribute paddings has {} entries; expected 2 (height, "
                  "width) or 4 (top, bottom, left, right)",
                  paddings.size());
  std::vector<WindowAxis> axes(2);
  for (size_t i = 0; i < 2; ++i) {
    axes[i].name = i == 0 ? "height" : "width";
    context.Require(strides[i] >= 1, "window.stride",
                    "strides[{}] = {}; expected 1 or more", i, strides[i]);
    axes[i].stride = strides[i];
    axes[i].pad_before = paddings[four ? 2 * i : i];
    axes[i].pad_after = paddings[four ? 2 * i + 1 : i];
  }
  for (size_t i = 0; i < paddings.size(); ++i) {
    context.Require(paddings[i] >= 0, "window.padding",
                    "paddings[{}] = {}; expected 0 or more", i, paddings[i]);
  }
  return axes;
}

// How many windows there are along an axis of `size` elements; -1 while that
// is not known. `whole` is false where the last window may reach past the
// padded end (ceil_mode); it begins inside the input or its first padding.
inline int64_t WindowCount(const framework::InferShapeContext& context,
                           const WindowAxis& axis,
                           int64_t size,
                           bool whole = true) {
  if (axis.kernel >= 0) {
    context.Require(axis.kernel >= 1, "window.kernel",
                    "the kernel's {} is 0; expected 1 or more", axis.name);
  }
  if (axis.kernel < 0 || size < 0) return -1;
  int64_t extent = 0;
  int64_t padded = 0;
  const bool overflow =
      __builtin_mul_overflow(axis.kernel - 1, axis.dilation, &extent) ||
      __builtin_add_overflow(extent, 1, &extent) ||
      __builtin_add_overflow(size, axis.pad_before, &padded) ||
      __builtin_add_overflow(padded, axis.pad_after, &padded);
  context.Require(!overflow, "window.overflow",
                  "the {} of the input ({}) with its padding ({} and {}) or of "
                  "the kernel ({}) with its dilation ({}) does not fit into 64 "
                  "bits",
                  axis.name, size, axis.pad_before, axis.pad_after, axis.kernel,
                  axis.dilation);
  context.Require(extent <= padded, "window.too_large",
                  "the kernel's {} ({} elements, {} with dilation {}) is more "
                  "than the input has with its padding ({} + {} + {})",
                  axis.name, axis.kernel, extent, axis.dilation,
                  axis.pad_before, size, axis.pad_after);
  int64_t steps = (padded - extent) / axis.stride;
  const bool cut = steps * axis.stride < padded - extent;
  if (!whole && cut) {
    // In this form nothing overflows.
    const int64_t inside = size + axis.pad_before - 1;
    if (steps < inside / axis.stride) ++steps;
  }
  return steps + 1;
}

}  // namespace sluice::operators
