#pragma once

#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The windows of a convolution or a pooling over two dimensions, as conv2d and
// pool2d take them.
struct Windows {
  Ints strides;
  Ints paddings;  // top, bottom, left, right
  Ints dilations;
};

// Attribute `name` of `node`, or `count` times `otherwise` where it was left
// out.
Ints WindowInts(Node& node, const char* name, size_t count, int64_t otherwise);

// Reads strides, pads, dilations and auto_pad of `node`, whose input 0 is [N,
// C, H, W] and whose windows are `kernel`. Raises Unimplemented for other
// ranks, for pads below 0, and for auto_pad while H or W is unknown.
Windows ReadWindows(Node& node, const Ints& kernel);
// The same with another auto_pad than the attribute's.
Windows ReadWindows(Node& node,
                    const Ints& kernel,
                    const std::string& auto_pad);

}  // namespace sluice::onnx
