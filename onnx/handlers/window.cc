#include "sluice/onnx/handlers/window.h"

#include <algorithm>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::onnx {

namespace {

// What SAME_UPPER and SAME_LOWER mean: as many windows as strides begin.
void PadSame(const Node& node,
             const Ints& kernel,
             bool more_before,
             Windows* windows) {
  const DDim x = node.Dims(0);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = x[static_cast<int>(i) + 2];
    if (size < 0) {
      Node::Unsupported(
          "the padding of auto_pad = SAME is known only when the model runs: "
          "its input has shape {}",
          platform::Printable(x));
    }
    const int64_t stride = std::max<int64_t>(windows->strides[i], 1);
    const int64_t count = (size + stride - 1) / stride;
    const int64_t extent = (kernel[i] - 1) * windows->dilations[i] + 1;
    const int64_t padding =
        std::max<int64_t>((count - 1) * stride + extent - size, 0);
    const int64_t smaller = padding / 2;
    windows->paddings[2 * i] = more_before ? padding - smaller : smaller;
    windows->paddings[2 * i + 1] = more_before ? smaller : padding - smaller;
  }
}

}  // namespace

Ints WindowInts(Node& node, const char* name, size_t count, int64_t otherwise) {
  Ints values = node.attributes().Ints(name);
  if (values.empty()) values.assign(count, otherwise);
  SLUICE_ENFORCE(values.size() == count, ErrorCode::kInvalidArgument,
                 "onnx.window_ints", "attribute {} has {} entries; expected {}",
                 name, values.size(), count);
  return values;
}

Windows ReadWindows(Node& node, const Ints& kernel) {
  return ReadWindows(node, kernel,
                     node.attributes().String("auto_pad", "NOTSET"));
}

Windows ReadWindows(Node& node,
                    const Ints& kernel,
                    const std::string& auto_pad) {
  const int rank = RankOf(node, 0);
  if (rank != 4) {
    Node::Unsupported("its input has {} dims; there are kernels for 4", rank);
  }
  SLUICE_ENFORCE(
      kernel.size() == 2, ErrorCode::kInvalidArgument, "onnx.kernel_shape",
      "the windows have {} dims; the input, of rank 4, takes 2", kernel.size());
  Windows windows;
  windows.strides = WindowInts(node, "strides", 2, 1);
  windows.dilations = WindowInts(node, "dilations", 2, 1);
  const Ints pads = WindowInts(node, "pads", 4, 0);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) {
    Node::Unsupported("a negative padding");
  }
  windows.paddings = {0, 0, 0, 0};
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadSame(node, kernel, auto_pad == "SAME_LOWER", &windows);
    return windows;
  }
  SLUICE_ENFORCE(auto_pad == "NOTSET" || auto_pad == "VALID",
                 ErrorCode::kInvalidArgument, "onnx.auto_pad",
                 "attribute auto_pad is {}; expected NOTSET, SAME_UPPER, "
                 "SAME_LOWER or VALID",
                 platform::Shown(auto_pad));
  // All beginnings come before all ends there.
  if (auto_pad == "NOTSET") {
    windows.paddings = {pads[0], pads[2], pads[1], pads[3]};
  }
  return windows;
}

}  // namespace sluice::onnx
