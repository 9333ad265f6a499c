#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

Inputs ConvInputs(Node& node, size_t dims) {
  Inputs inputs = {{"Input", {AsImage(node, dims, 0)}},
                   {"Filter", {AsImage(node, dims, 1)}}};
  if (node.HasInput(2)) inputs.push_back({"Bias", {node.In(2)}});
  return inputs;
}

void Conv(Node& node) {
  const size_t dims = ImageDims(node);
  const Windows windows = ReadWindows(node, dims, KernelOf(node, 1));
  FinishImage(node, dims, dims == 2 ? "conv2d" : "conv3d",
              ConvInputs(node, dims),
              {{"strides", windows.strides},
               {"paddings", windows.paddings},
               {"dilations", windows.dilations},
               {"groups", node.attributes().Int("group", 1)}},
              "Output");
}

// By how much the output of a transposed convolution without paddings exceeds
// attribute output_shape along axis `i`; without that attribute, auto_pad =
// SAME means size * stride. May be negative.
int64_t Excess(Node& node,
               const Ints& output_shape,
               const Windows& windows,
               int64_t output_padding,
               size_t i) {
  constexpr int64_t kMost = int64_t{1} << 30;  // prevents overflow
  const int64_t stride = windows.strides[i], dilation = windows.dilations[i];
  const int64_t stated = output_shape.empty() ? 0 : output_shape[i];
  const int64_t size =
      output_shape.empty() ? 0 : ImageSize(node, windows.dims, i);
  if (size < 0 || windows.kernel[i] == kUnknownDim) {
    Node::Unsupported(
        "its padding is known only when the model runs: its input has shape "
        "{}, its filter {}",
        Printable(node.Dims(0)), Printable(node.Dims(1)));
  }
  for (const int64_t number :
       {stride, dilation, windows.kernel[i], output_padding, stated, size}) {
    if (number < 0 || number > kMost) {
      Node::Unsupported("the number {} among its sizes", number);
    }
  }
  return (size - 1) * stride + (windows.kernel[i] - 1) * dilation + 1 +
         output_padding - stated;
}

// Chooses paddings, or output padding, to match a given output size.
void PadToSize(Node& node,
               const Ints& output_shape,
               bool more_before,
               Windows* windows,
               Ints* output_padding) {
  for (size_t i = 0; i < windows->dims; ++i) {
    const int64_t excess =
        Excess(node, output_shape, *windows, (*output_padding)[i], i);
    const int64_t padding = std::max<int64_t>(excess, 0), smaller = padding / 2;
    windows->paddings[2 * i] = more_before ? padding - smaller : smaller;
    windows->paddings[2 * i + 1] = more_before ? smaller : padding - smaller;
    if (excess < 0) (*output_padding)[i] -= excess;
  }
}

void ConvTranspose(Node& node) {
  const size_t dims = ImageDims(node), rank = WindowRank(node);
  const Ints kernel = KernelOf(node, 1);
  const std::string auto_pad = node.attributes().String("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Ints output_shape = node.attributes().Ints("output_shape");
  Windows windows = ReadWindows(node, dims, kernel, same ? "VALID" : auto_pad);
  Ints output_padding =
      ForDims(node, dims, WindowInts(node, "output_padding", rank, 0), 0);
  SLUICE_ENFORCE(output_shape.empty() || output_shape.size() == rank ||
                     output_shape.size() == rank + 2,
                 ErrorCode::kInvalidArgument, "onnx.output_shape",
                 "attribute output_shape has {} entries; expected {}, the "
                 "sizes of images or signals",
                 output_shape.size(), rank);
  if (!output_shape.empty()) {
    // Some models specify all sizes.
    output_shape.erase(output_shape.begin(),
                       output_shape.end() - static_cast<int64_t>(rank));
    output_shape = ForDims(node, dims, output_shape, 1);
  }
  if (same || !output_shape.empty()) {
    PadToSize(node, output_shape, auto_pad != "SAME_UPPER", &windows,
              &output_padding);
  }
  for (size_t i = 0; i < dims; ++i) {
    if (output_padding[i] >= std::max<int64_t>(windows.strides[i], 1)) {
      Node::Unsupported(
          "{} rows or columns are added to its output; there are kernels for "
          "fewer than its stride, {}",
          output_padding[i], windows.strides[i]);
    }
  }
  FinishImage(node, dims, dims == 2 ? "conv2d_transpose" : "conv3d_transpose",
              ConvInputs(node, dims),
              {{"strides", windows.strides},
               {"paddings", windows.paddings},
               {"output_padding", output_padding},
               {"dilations", windows.dilations},
               {"groups", node.attributes().Int("group", 1)}},
              "Output");
}

// Applies a filter [C, 1, k] to each channel of a signal [B, C, L], after the
// previous k - 1 elements, or zeros. The last k - 1 elements are output 1, for
// the next call.
void CausalConvWithState(Node& node) {
  const DDim filter = node.Dims(1);
  if (!filter.known() || filter.rank() != 3) {
    Node::Unsupported("its filter has shape {}; expected [channels, 1, size]",
                      Printable(filter));
  }
  const std::string activation = node.attributes().String("activation", "none");
  const bool swish = activation == "silu" || activation == "swish";
  SLUICE_ENFORCE(swish || activation == "none", ErrorCode::kInvalidArgument,
                 "onnx.causal_activation",
                 "attribute activation is {}; expected none, silu or swish",
                 Shown(activation));
  const int64_t before = filter[2] - 1;
  std::string signal;
  if (node.HasInput(3)) {
    signal = node.Append("concat", {{"X", {node.In(3), node.In(0)}}},
                         {{"axis", int64_t{2}}});
  } else {
    signal =
        node.Unary("pad", node.In(0), {{"pads", Ints{0, 0, before, 0, 0, 0}}});
  }
  if (node.HasOutput(1)) {
    const int64_t start = before == 0 ? INT64_MAX : -before;
    node.FinishOutput(1, "slice", {{"X", {signal}}},
                      {{"starts", Ints{start}},
                       {"ends", Ints{INT64_MAX}},
                       {"axes", Ints{2}}});
  }
  const AttributeMap height = {{"axes", Ints{2}}};
  Inputs inputs = {{"Input", {node.Unary("unsqueeze", signal, height)}},
                   {"Filter", {node.Unary("unsqueeze", node.In(1), height)}}};
  if (node.HasInput(2)) inputs.push_back({"Bias", {node.In(2)}});
  std::string image = node.Append("conv2d", std::move(inputs),
                                  {{"groups", filter[0]}}, "Output");
  if (swish) image = node.Unary("swish", image);
  node.FinishUnary("squeeze", image, height);
}

constexpr HandlerRow kConvRows[] = {
    {"CausalConvWithState", 1, CausalConvWithState},
    {"Conv", 1, Conv},
    {"ConvTranspose", 1, ConvTranspose},
};

}  // namespace

std::span<const HandlerRow> ConvHandlers() {
  return kConvRows;
}

}  // namespace sluice::onnx
