#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/volume_windows.h"

namespace sluice {

// A transposed convolution, the op with attribute output_padding, is the
// gradient of a convolution by its input. The sizes of its kernels are those of
// that convolution, whose input has the shape of the transposed one's output.
inline bool IsTransposed(const KernelQuery& query) {
  return query.op.attributes.contains("output_padding");
}

// Returns the windows of a convolution, a gradient of it, or its transpose. All
// have Input and Filter first and the same attributes. The shape functions have
// already checked them. `first` is the axis of the first size of an image.
inline VolumeWindows ConvWindows(const KernelQuery& query, int first = 2) {
  const DDim& filter = query.inputs[1];
  return WindowsOver(query,
                     IsTransposed(query) ? query.outputs[0] : query.inputs[0],
                     {filter.begin() + 2, filter.end()}, first);
}

// Returns the geometry of a conv2d, conv2d_grad_input, conv2d_grad_filter or
// conv2d_transpose. Height and width may have changed places.
inline Conv2dGeometry Conv2dGeometryOf(const KernelQuery& query) {
  const bool transposed = IsTransposed(query);
  const DDim& input = transposed ? query.outputs[0] : query.inputs[0];
  Conv2dGeometry g;
  g.nhwc = query.Attr<std::string>("data_format") == "NHWC";
  g.groups = query.Attr<int64_t>("groups");
  const VolumeWindows windows = ConvWindows(query, g.nhwc ? 1 : 2);
  const auto& [depth, height, width] = windows.axes;
  g.n = input[0];
  g.in_c = input[g.nhwc ? 3 : 1];
  g.in_h = height.in;
  g.in_w = width.in;
  g.out_c = query.inputs[1][0];
  g.out_h = height.out;
  g.out_w = width.out;
  g.kernel_h = height.kernel;
  g.kernel_w = width.kernel;
  g.stride_h = height.stride;
  g.stride_w = width.stride;
  g.dilation_h = height.dilation;
  g.dilation_w = width.dilation;
  g.pad_top = height.pad_before;
  g.pad_bottom = height.pad_after;
  g.pad_left = width.pad_before;
  g.pad_right = width.pad_after;
  if (transposed) {
    // output_padding adds rows and columns that no window reaches.
    const Ints& added = query.Attr<Ints>("output_padding");
    g.pad_bottom -= added[0];
    g.pad_right -= added[1];
  }
  g.LayColumnsFlat();
  return g;
}

}  // namespace sluice
