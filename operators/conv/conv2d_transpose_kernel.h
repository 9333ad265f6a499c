#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/registration.h"

namespace sluice {

// conv2d_transpose is the gradient of a convolution by its input. Returns that
// convolution: its input has the shape of conv2d_transpose's output and vice
// versa. The shape function has already checked everything.
inline Conv2dGeometry Conv2dTransposeGeometryOf(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const DDim& filter = query.inputs[1];
  const DDim& out = query.outputs[0];
  const Ints& strides = query.Attr<Ints>("strides");
  const Ints& paddings = query.Attr<Ints>("paddings");
  const Ints& output_padding = query.Attr<Ints>("output_padding");
  const Ints& dilations = query.Attr<Ints>("dilations");
  const bool four = paddings.size() == 4;
  Conv2dGeometry g;
  g.nhwc = query.Attr<std::string>("data_format") == "NHWC";
  const int channel = g.nhwc ? 3 : 1, height = g.nhwc ? 1 : 2;
  g.groups = query.Attr<int64_t>("groups");
  g.n = x[0];
  g.in_c = out[channel];
  g.in_h = out[height];
  g.in_w = out[height + 1];
  g.out_c = x[channel];
  g.out_h = x[height];
  g.out_w = x[height + 1];
  g.kernel_h = filter[2];
  g.kernel_w = filter[3];
  g.stride_h = strides[0];
  g.stride_w = strides[1];
  g.dilation_h = dilations[0];
  g.dilation_w = dilations[1];
  g.pad_top = paddings[0];
  g.pad_left = paddings[four ? 2 : 1];
  // output_padding adds rows and columns that no window reaches.
  g.pad_bottom = paddings[four ? 1 : 0] - output_padding[0];
  g.pad_right = paddings[four ? 3 : 1] - output_padding[1];
  g.LayColumnsFlat();
  return g;
}

}  // namespace sluice
