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

// The ops have windows over two dims. A node with an input of [N, C, L], a
// signal, gets them over [N, C, 1, L].
bool IsSignal(const Node& node);
// How many dims windows have: 1 or 2. Raises Unimplemented for an input 0 of
// other ranks than 3 and 4.
size_t WindowRank(const Node& node);
// Numbers for each dim of a window, for two.
Ints ForTwoDims(const Node& node, Ints numbers, int64_t first);
// H or W of input 0, or -1.
int64_t ImageSize(const Node& node, size_t dim);
// The windows of a convolution: the size of the filter, input `index`, which
// attribute kernel_shape must not contradict.
Ints KernelOf(Node& node, int index);
// Input `index`, seen as having H.
std::string AsImage(Node& node, int index);
// Node::Finish for an output that has H.
void FinishImage(Node& node,
                 const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const std::string& argument = "Out");

// Reads strides, pads, dilations and auto_pad of `node`, whose input 0 is [N,
// C, H, W] or [N, C, L], and whose windows are `kernel`, which gets a size for
// H. Raises Unimplemented for other ranks, for pads below 0, and for auto_pad
// while H or W is unknown.
Windows ReadWindows(Node& node, Ints* kernel);
// The same with another auto_pad than the attribute's.
Windows ReadWindows(Node& node, Ints* kernel, const std::string& auto_pad);

}  // namespace sluice::onnx
