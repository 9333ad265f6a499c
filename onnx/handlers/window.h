#pragma once

#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The windows of a convolution or a pooling, as the ops take them: those of
// conv2d and pool2d have two dims, those of conv3d and pool3d three. A node
// with fewer gets dims of size 1 before its own.
struct Windows {
  size_t dims = 2;
  Ints kernel;
  Ints strides;
  Ints paddings;  // top, bottom, left, right
  Ints dilations;
};

// Attribute `name` of `node`, or `count` times `otherwise` where it was left
// out.
Ints WindowInts(Node& node, const char* name, size_t count, int64_t otherwise);

// How many dims the node's windows have: 1 to 3. Where the rank of input 0 is
// unknown, attributes of windows or the filter say it. Raises Unimplemented for
// an input 0 of another rank than 3 to 5.
size_t WindowRank(Node& node);
// Those that ops have at least: signals are images there.
size_t ImageDims(Node& node);
// `numbers` for each dim of the node's windows, with `first` for those before.
Ints ForDims(Node& node, size_t dims, Ints numbers, int64_t first);
// The size of input 0 along dim `dim` of `dims`, or -1.
int64_t ImageSize(Node& node, size_t dims, size_t dim);
// The windows of a convolution: the size of the filter, input `index`, which
// attribute kernel_shape must not contradict.
Ints KernelOf(Node& node, int index);
// Input `index`, or a variable, seen as having all `dims`.
std::string AsImage(Node& node, size_t dims, int index);
std::string AsImage(Node& node, size_t dims, const std::string& x);
// `image` with the dims of the node's output only.
std::string FromImage(Node& node, size_t dims, const std::string& image);
// Node::Finish for an output that has all `dims`.
void FinishImage(Node& node,
                 size_t dims,
                 const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const std::string& argument = "Out");

// Reads strides, pads, dilations and auto_pad of `node`, whose input 0 is [N,
// C, ...], and whose windows are `kernel`, for an op of `dims` dims. Raises
// Unimplemented for other ranks, for pads below 0, and for auto_pad while sizes
// are unknown.
Windows ReadWindows(Node& node, size_t dims, const Ints& kernel);
// The same with another auto_pad than the attribute's.
Windows ReadWindows(Node& node,
                    size_t dims,
                    const Ints& kernel,
                    const std::string& auto_pad);

}  // namespace sluice::onnx
