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

// Reads strides, pads, dilations and auto_pad of `node`, whose input 0 is [N,
// C, H, W] and whose windows are `kernel`. Raises Unimplemented for other
// ranks, for pads below 0, and for auto_pad while H or W is unknown.
Windows ReadWindows(Node& node, const Ints& kernel);

}  // namespace sluice::onnx
