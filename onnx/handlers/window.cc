#include "sluice/onnx/handlers/window.h"

#include <algorithm>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::onnx {

namespace {

// What SAME_UPPER and SAME_LOWER mean: as many windows as strides begin.
void PadSame(const Node& node,
             const Ints& kernel,
             bool more_before,
             Windows* windows) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = ImageSize(node, i);
    if (size < 0) {
      Node::Unsupported(
          "the padding of auto_pad = SAME is known only when the model runs: "
          "its input has shape {}",
          platform::Printable(node.Dims(0)));
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

bool IsSignal(const Node& node) {
  return RankOf(node, 0) == 3;
}

size_t WindowRank(const Node& node) {
  const int rank = RankOf(node, 0);
  if (rank != 3 && rank != 4) {
    Node::Unsupported("its input has {} dims; there are kernels for 3 and 4",
                      rank);
  }
  return static_cast<size_t>(rank) - 2;
}

Ints ForTwoDims(const Node& node, Ints numbers, int64_t first) {
  if (IsSignal(node)) numbers.insert(numbers.begin(), first);
  return numbers;
}

int64_t ImageSize(const Node& node, size_t dim) {
  const DDim x = node.Dims(0);
  if (!IsSignal(node)) return x[static_cast<int>(dim) + 2];
  return dim == 0 ? 1 : x[2];
}

Ints KernelOf(Node& node, int index) {
  const DDim filter = node.Dims(index);
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

std::string AsImage(Node& node, int index) {
  if (!IsSignal(node)) return node.In(index);
  return node.Append("unsqueeze", {{"X", {node.In(index)}}},
                     {{"axes", Ints{2}}});
}

void FinishImage(Node& node,
                 const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const std::string& argument) {
  if (!IsSignal(node)) {
    return node.Finish(type, std::move(inputs), std::move(attributes),
                       argument);
  }
  const std::string image =
      node.Append(type, std::move(inputs), std::move(attributes), argument);
  node.Finish("squeeze", {{"X", {image}}}, {{"axes", Ints{2}}});
}

Windows ReadWindows(Node& node, Ints* kernel) {
  return ReadWindows(node, kernel,
                     node.attributes().String("auto_pad", "NOTSET"));
}

Windows ReadWindows(Node& node, Ints* kernel, const std::string& auto_pad) {
  const size_t dims = WindowRank(node);
  SLUICE_ENFORCE(kernel->size() == dims, ErrorCode::kInvalidArgument,
                 "onnx.kernel_shape",
                 "the windows have {} dims; the input, of rank {}, takes {}",
                 kernel->size(), dims + 2, dims);
  *kernel = ForTwoDims(node, *kernel, 1);
  Windows windows;
  windows.strides = ForTwoDims(node, WindowInts(node, "strides", dims, 1), 1);
  windows.dilations =
      ForTwoDims(node, WindowInts(node, "dilations", dims, 1), 1);
  const Ints pads = WindowInts(node, "pads", 2 * dims, 0);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) {
    Node::Unsupported("a negative padding");
  }
  windows.paddings = {0, 0, 0, 0};
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadSame(node, *kernel, auto_pad == "SAME_LOWER", &windows);
    return windows;
  }
  SLUICE_ENFORCE(auto_pad == "NOTSET" || auto_pad == "VALID",
                 ErrorCode::kInvalidArgument, "onnx.auto_pad",
                 "attribute auto_pad is {}; expected NOTSET, SAME_UPPER, "
                 "SAME_LOWER or VALID",
                 platform::Shown(auto_pad));
  if (auto_pad == "VALID") return windows;
  // All beginnings come before all ends there.
  if (dims == 1) {
    windows.paddings = {0, 0, pads[0], pads[1]};
  } else {
    windows.paddings = {pads[0], pads[2], pads[1], pads[3]};
  }
  return windows;
}

}  // namespace sluice::onnx
