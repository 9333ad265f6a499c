#pragma once

#include <string_view>

#include "sluice/operators/registration.h"

// Shared by the shape functions of convolutions and pooling: windows that slide
// over height and width, and over the depth of a volume.
namespace sluice {

// Texts for the docs of ops over images (2 dimensions) and volumes (3).
struct WindowWords {
  std::string_view unit = "pixel";
  std::string_view units = "Pixels";
  std::string_view lines = "Rows and columns";  // of units
  std::string_view axes = "height, width";
  std::string_view sides = "top, bottom, left, right";
};

inline WindowWords WordsOf(int dims) {
  if (dims == 2) return {};
  return {"element", "Elements", "Planes", "depth, height, width",
          "front, back, top, bottom, left, right"};
}

// One of the two or three dimensions. Sizes are -1 if unknown.
struct WindowAxis {
  std::string_view name;
  int64_t kernel = -1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
};

// Returns the entries of attribute `name`, one for each of `dims` dimensions.
inline const std::vector<int64_t>& WindowInts(const InferShapeContext& context,
                                              std::string_view name,
                                              size_t dims = 2) {
  const auto& ints = context.Attr<std::vector<int64_t>>(name);
  context.Require(
      ints.size() == dims, "window.pair",
      "attribute {} has {} entries; expected {}: {}height and width", name,
      ints.size(), dims, dims == 3 ? "depth, " : "");
  return ints;
}

// Reads and checks strides and paddings, and returns the dimensions. Paddings
// have one entry a dimension or two: [top, bottom, left, right].
inline std::vector<WindowAxis> WindowAxes(const InferShapeContext& context,
                                          size_t dims = 2) {
  constexpr std::string_view kNames[] = {"depth", "height", "width"};
  const auto& strides = WindowInts(context, "strides", dims);
  const auto& paddings = context.Attr<std::vector<int64_t>>("paddings");
  const bool both = paddings.size() == 2 * dims;
  context.Require(both || paddings.size() == dims, "window.paddings",
                  "attribute paddings has {} entries; expected {} ({}height, "
                  "width) or {} ({}top, bottom, left, right)",
                  paddings.size(), dims, dims == 3 ? "depth, " : "", 2 * dims,
                  dims == 3 ? "front, back, " : "");
  std::vector<WindowAxis> axes(dims);
  for (size_t i = 0; i < dims; ++i) {
    axes[i].name = kNames[3 - dims + i];
    context.Require(strides[i] >= 1, "window.stride",
                    "strides[{}] = {}; expected 1 or more", i, strides[i]);
    axes[i].stride = strides[i];
    axes[i].pad_before = paddings[both ? 2 * i : i];
    axes[i].pad_after = paddings[both ? 2 * i + 1 : i];
  }
  for (size_t i = 0; i < paddings.size(); ++i) {
    context.Require(paddings[i] >= 0, "window.padding",
                    "paddings[{}] = {}; expected 0 or more", i, paddings[i]);
  }
  return axes;
}

// Checks attribute dilations and adds it to `axes`.
inline void ReadDilations(const InferShapeContext& context,
                          std::vector<WindowAxis>* axes) {
  const auto& dilations = WindowInts(context, "dilations", axes->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    context.Require(dilations[i] >= 1, "window.dilation",
                    "dilations[{}] = {}; expected 1 or more", i, dilations[i]);
    (*axes)[i].dilation = dilations[i];
  }
}

// Returns the number of windows along an axis of `size` elements; -1 if
// unknown. If `whole` is false (ceil_mode), the last window may extend past the
// padded end, but it begins inside the input or the padding before it.
inline int64_t WindowCount(const InferShapeContext& context,
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
    // This form cannot overflow.
    const int64_t inside = size + axis.pad_before - 1;
    if (steps < inside / axis.stride) ++steps;
  }
  return steps + 1;
}

}  // namespace sluice
