#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/pool/pool2d.h"

namespace sluice {

// Returns the geometry of a pool2d, relu_pool2d or a gradient of these; `out`
// is the shape of Out. The shape functions have already checked it.
inline Pool2dGeometry Pool2dGeometryOf(const KernelQuery& query,
                                       const DDim& out) {
  using Ints = std::vector<int64_t>;
  const DDim& x = query.inputs[0];
  Pool2dGeometry g;
  g.nhwc = query.Attr<std::string>("data_format") == "NHWC";
  g.max = query.Attr<std::string>("pooling_type") == "max";
  g.exclusive = query.Attr<bool>("exclusive");
  g.relu = query.op.type.starts_with("relu_");
  const int height = g.nhwc ? 1 : 2;
  g.n = x[0];
  g.c = x[g.nhwc ? 3 : 1];
  g.in_h = x[height];
  g.in_w = x[height + 1];
  g.out_h = out[height];
  g.out_w = out[height + 1];
  if (query.Attr<bool>("global_pooling")) {
    g.kernel_h = g.end_h = g.in_h;
    g.kernel_w = g.end_w = g.in_w;
    g.LayColumnsFlat();
    return g;
  }
  const Ints& ksize = query.Attr<Ints>("ksize");
  const Ints& strides = query.Attr<Ints>("strides");
  const Ints& paddings = query.Attr<Ints>("paddings");
  g.kernel_h = ksize[0];
  g.kernel_w = ksize[1];
  g.stride_h = strides[0];
  g.stride_w = strides[1];
  g.pad_top = paddings[0];
  g.pad_left = paddings[paddings.size() == 4 ? 2 : 1];
  g.end_h = g.in_h + paddings[paddings.size() == 4 ? 1 : 0];
  g.end_w = g.in_w + paddings.back();
  g.pad_bottom = (g.out_h - 1) * g.stride_h - g.pad_top + g.kernel_h - g.in_h;
  g.pad_right = (g.out_w - 1) * g.stride_w - g.pad_left + g.kernel_w - g.in_w;
  g.LayColumnsFlat();
  return g;
}

}  // namespace sluice
