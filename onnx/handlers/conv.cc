#include <algorithm>
#include <string>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

// Height and width of the filter, input 1.
Ints KernelOf(Node& node) {
  const DDim filter = node.Dims(1);
  if (!filter.known()) {
    Node::Unsupported("the shape of its filter, {}, is not known",
                      platform::Printable(filter));
  }
  Ints kernel(filter.begin() + std::min(filter.rank(), 2), filter.end());
  const Ints stated = node.attributes().Ints("kernel_shape");
  SLUICE_ENFORCE(stated.empty() || stated == kernel,
                 ErrorCode::kInvalidArgument, "onnx.conv_kernel_shape",
                 "attribute kernel_shape is not the size of the filter, {}",
                 filter);
  return kernel;
}

Inputs ConvInputs(Node& node) {
  Inputs inputs = {{"Input", {node.In(0)}}, {"Filter", {node.In(1)}}};
  if (node.HasInput(2)) inputs.push_back({"Bias", {node.In(2)}});
  return inputs;
}

void Conv(Node& node) {
  const Ints kernel = KernelOf(node);
  const Windows windows = ReadWindows(node, kernel);
  node.Finish("conv2d", ConvInputs(node),
              {{"strides", windows.strides},
               {"paddings", windows.paddings},
               {"dilations", windows.dilations},
               {"groups", node.attributes().Int("group", 1)}},
              "Output");
}

// How much larger the output of a transposed convolution is along axis `i` of
// two without paddings than attribute output_shape states; without that
// attribute, than auto_pad = SAME means: size * stride. May be less than 0.
int64_t Excess(const Node& node,
               const Ints& kernel,
               const Ints& output_shape,
               const Windows& windows,
               int64_t output_padding,
               size_t i) {
  constexpr int64_t kMost = int64_t{1} << 30;  // so that nothing overflows
  const int64_t stride = windows.strides[i], dilation = windows.dilations[i];
  // Some models state all four sizes.
  const int64_t stated =
      output_shape.empty() ? 0 : output_shape[output_shape.size() - 2 + i];
  const int64_t size =
      output_shape.empty() ? 0 : node.Dims(0)[static_cast<int>(i) + 2];
  if (size < 0) {
    Node::Unsupported(
        "its padding is known only when the model runs: its input has shape {}",
        platform::Printable(node.Dims(0)));
  }
  for (const int64_t number :
       {stride, dilation, kernel[i], output_padding, stated, size}) {
    if (number < 0 || number > kMost) {
      Node::Unsupported("the number {} among its sizes", number);
    }
  }
  return (size - 1) * stride + (kernel[i] - 1) * dilation + 1 + output_padding -
         stated;
}

// Chooses paddings, or more output padding, for a stated size of the output.
void PadToSize(const Node& node,
               const Ints& kernel,
               const Ints& output_shape,
               bool more_before,
               Windows* windows,
               Ints* output_padding) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t excess =
        Excess(node, kernel, output_shape, *windows, (*output_padding)[i], i);
    const int64_t padding = std::max<int64_t>(excess, 0), smaller = padding / 2;
    windows->paddings[2 * i] = more_before ? padding - smaller : smaller;
    windows->paddings[2 * i + 1] = more_before ? smaller : padding - smaller;
    if (excess < 0) (*output_padding)[i] -= excess;
  }
}

void ConvTranspose(Node& node) {
  const Ints kernel = KernelOf(node);
  const std::string auto_pad = node.attributes().String("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const Ints output_shape = node.attributes().Ints("output_shape");
  Windows windows = ReadWindows(node, kernel, same ? "VALID" : auto_pad);
  Ints output_padding = WindowInts(node, "output_padding", 2, 0);
  SLUICE_ENFORCE(
      output_shape.empty() || output_shape.size() == 2 ||
          output_shape.size() == 4,
      ErrorCode::kInvalidArgument, "onnx.output_shape",
      "attribute output_shape has {} entries; expected 2: height and width",
      output_shape.size());
  if (same || !output_shape.empty()) {
    PadToSize(node, kernel, output_shape, auto_pad != "SAME_UPPER", &windows,
              &output_padding);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (output_padding[i] >= std::max<int64_t>(windows.strides[i], 1)) {
      Node::Unsupported(
          "{} rows or columns are added to its output; there are kernels for "
          "fewer than its stride, {}",
          output_padding[i], windows.strides[i]);
    }
  }
  node.Finish("conv2d_transpose", ConvInputs(node),
              {{"strides", windows.strides},
               {"paddings", windows.paddings},
               {"output_padding", output_padding},
               {"dilations", windows.dilations},
               {"groups", node.attributes().Int("group", 1)}},
              "Output");
}

constexpr HandlerRow kRows[] = {{"Conv", 1, Conv},
                                {"ConvTranspose", 1, ConvTranspose}};

}  // namespace

std::span<const HandlerRow> ConvHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
