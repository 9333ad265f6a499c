#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/registration.h"

namespace sluice {

// Returns the geometry of a conv2d, conv2d_grad_input or conv2d_grad_filter.
// All three have Input and Filter first and the same attributes. The shape
// functions have already checked the geometry. Height and width may have
// changed places.
inline Conv2dGeometry Conv2dGeometryOf(const KernelQuery& query) {
  const DDim& input = query.inputs[0];
  const DDim& filter = query.inputs[1];
  const Ints& strides = query.Attr<Ints>("strides");
  const Ints& paddings = query.Attr<Ints>("paddings");
  const Ints& dilations = query.Attr<Ints>("dilations");
  const bool four = paddings.size() == 4;
  Conv2dGeometry g;
  g.nhwc = query.Attr<std::string>("data_format") == "NHWC";
  g.groups = query.Attr<int64_t>("groups");
  g.n = input[0];
  g.in_c = input[g.nhwc ? 3 : 1];
  g.in_h = input[g.nhwc ? 1 : 2];
  g.in_w = input[g.nhwc ? 2 : 3];
  g.out_c = filter[0];
  g.kernel_h = filter[2];
  g.kernel_w = filter[3];
  g.stride_h = strides[0];
  g.stride_w = strides[1];
  g.dilation_h = dilations[0];
  g.dilation_w = dilations[1];
  g.pad_top = paddings[0];
  g.pad_bottom = paddings[four ? 1 : 0];
  g.pad_left = paddings[four ? 2 : 1];
  g.pad_right = paddings[four ? 3 : 1];
  const auto out_size = [](int64_t padded, int64_t kernel, int64_t dilation,
                           int64_t stride) {
    return (padded - (kernel - 1) * dilation - 1) / stride + 1;
  };
  g.out_h = out_size(g.pad_top + g.in_h + g.pad_bottom, g.kernel_h,
                     g.dilation_h, g.stride_h);
  g.out_w = out_size(g.pad_left + g.in_w + g.pad_right, g.kernel_w,
                     g.dilation_w, g.stride_w);
  g.LayColumnsFlat();
  return g;
}

}  // namespace sluice
