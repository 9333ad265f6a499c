#pragma once

#include <initializer_list>
#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The windows of a convolution or pooling in the form of the ops: conv2d and
// pool2d have two dims, conv3d and pool3d three. A node with fewer dims gets
// leading dims of size 1.
struct Windows {
  size_t dims = 2;
  Ints kernel;
  Ints strides;
  Ints paddings;  // top, bottom, left, right
  Ints dilations;
  // Whether the paddings are those of PadLate, which depend on sizes that are
  // known only at run time, and `paddings` is 0; and which of them is larger.
  bool late = false;
  bool more_before = false;
};

// Attribute `name` of `node`, or `count` times `otherwise` if it is omitted.
Ints WindowInts(Node& node, const char* name, size_t count, int64_t otherwise);

// The number of dims of the node's windows: 1 to 3. If the rank of input 0 is
// unknown, window attributes or the filter determine it. Raises Unimplemented
// for an input 0 whose rank is not 3 to 5.
size_t WindowRank(Node& node);
// The number of dims of the op's windows: at least 2, so signals become images.
size_t ImageDims(Node& node);
// `numbers` for the dims of the node's windows, `first` for leading dims.
Ints ForDims(Node& node, size_t dims, Ints numbers, int64_t first);
// The size of input 0 along dim `dim` of `dims`, or -1.
int64_t ImageSize(Node& node, size_t dims, size_t dim);
// The kernel of a convolution: the size of the filter (input `index`), which
// attribute kernel_shape must not contradict.
Ints KernelOf(Node& node, int index);
// Reshapes a variable to have all `dims`.
std::string AsImage(Node& node, size_t dims, const std::string& x);
// Reshapes `image` to the dims of the node's output.
std::string FromImage(Node& node, size_t dims, const std::string& image);
// Adds late paddings, of this value, to an image; else returns it.
std::string PadLate(Node& node,
                    const Windows& windows,
                    const std::string& image,
                    double value = 0);
// Calls Node::Finish for an output with all `dims`.
void FinishImage(Node& node,
                 size_t dims,
                 const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const std::string& argument = "Out");

// Reads strides, pads, dilations and auto_pad of `node`, whose input 0 is
// [N, C, ...] and whose windows are `kernel`, for an op of `dims` dims. Raises
// Unimplemented for other ranks, negative pads, and auto_pad with a kernel of
// unknown size.
Windows ReadWindows(Node& node, size_t dims, const Ints& kernel);
// ReadWindows with another auto_pad than the attribute's.
Windows ReadWindows(Node& node,
                    size_t dims,
                    const Ints& kernel,
                    const std::string& auto_pad);

// Images whose channels are their last dim. Raises Unimplemented for an unknown
// rank.
std::string ChannelsFirst(Node& node, const std::string& image);
// The order of transpose that makes an image of `rank` dims such a one again.
Ints ChannelsLastOrder(int rank);
// Finishes a node of such images with the result of an operator of ONNX that
// has channels first, and this node's attributes. `images` are the inputs that
// are images.
void FinishChannelsLast(Node& node,
                        const std::string& type,
                        std::initializer_list<int> images);

}  // namespace sluice::onnx
