#include "sluice/onnx/handlers/window.h"

#include <algorithm>
#include <utility>

namespace sluice::onnx {

namespace {

// The axes of the dims that the op has and the node lacks.
Ints AddedAxes(Node& node, size_t dims) {
  Ints axes;
  for (size_t i = WindowRank(node); i < dims; ++i) {
    axes.push_back(static_cast<int64_t>(axes.size()) + 2);
  }
  return axes;
}

// Prevents overflow of sums and products of two window numbers.
constexpr int64_t kMostOfWindow = int64_t{1} << 30;

void CheckWindowNumbers(const Ints& numbers, const char* what) {
  for (const int64_t number : numbers) {
    SLUICE_ENFORCE(number >= -kMostOfWindow && number <= kMostOfWindow,
                   ErrorCode::kInvalidArgument, "onnx.window_number",
                   "a number of its {} is {}; expected at most {}", what,
                   number, kMostOfWindow);
  }
}

// Implements SAME_UPPER and SAME_LOWER: one window for each stride. With stride
// 1 the padding is the same for every size.
void PadSame(Node& node, Windows* windows) {
  Ints paddings(2 * windows->dims);
  for (size_t i = 0; i < windows->dims; ++i) {
    if (windows->kernel[i] == kUnknownDim) {
      Node::Unsupported(
          "the padding of auto_pad = SAME takes the sizes of its windows, "
          "which "
          "are known only when the model runs");
    }
    const int64_t stride = std::max<int64_t>(windows->strides[i], 1);
    int64_t size = ImageSize(node, windows->dims, i);
    if (size < 0 && stride > 1) windows->late = true;
    size = std::max<int64_t>(size, 0);
    CheckWindowNumbers({size}, "input's sizes");
    const int64_t count = (size + stride - 1) / stride;
    const int64_t extent = (windows->kernel[i] - 1) * windows->dilations[i] + 1;
    const int64_t padding =
        std::max<int64_t>((count - 1) * stride + extent - size, 0);
    const int64_t smaller = padding / 2;
    paddings[2 * i] = windows->more_before ? padding - smaller : smaller;
    paddings[2 * i + 1] = windows->more_before ? smaller : padding - smaller;
  }
  if (!windows->late) windows->paddings = paddings;
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

size_t WindowRank(Node& node) {
  int rank = node.Dims(0).rank();
  for (const char* name : {"kernel_shape", "strides", "dilations"}) {
    const size_t stated = node.attributes().Ints(name).size();
    if (rank < 0 && stated > 0) rank = static_cast<int>(stated) + 2;
  }
  // The filter comes after scales and zero points of X.
  for (int i = 1; rank < 0 && i < node.input_count(); ++i) {
    if (node.HasInput(i) && node.Dims(i).rank() > 2) rank = node.Dims(i).rank();
  }
  if (rank < 0) RankOf(node, 0);  // raises
  if (rank < 3 || rank > 5) {
    Node::Unsupported("its input has {} dims; there are kernels for 3 to 5",
                      rank);
  }
  return static_cast<size_t>(rank) - 2;
}

size_t ImageDims(Node& node) {
  return std::max<size_t>(WindowRank(node), 2);
}

Ints ForDims(Node& node, size_t dims, Ints numbers, int64_t first) {
  numbers.insert(numbers.begin(), dims - WindowRank(node), first);
  return numbers;
}

int64_t ImageSize(Node& node, size_t dims, size_t dim) {
  const size_t added = dims - WindowRank(node);
  if (dim < added) return 1;
  return node.SizeOf(node.In(0), static_cast<int>(dim - added) + 2);
}

Ints KernelOf(Node& node, int index) {
  const DDim filter = node.Dims(index);
  const Ints stated = node.attributes().Ints("kernel_shape");
  Ints kernel(WindowRank(node), kUnknownDim);
  if (filter.rank_known()) {
    kernel.assign(filter.begin() + std::min(filter.rank(), 2), filter.end());
  }
  if (stated.size() == kernel.size()) {
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (kernel[i] == kUnknownDim) kernel[i] = stated[i];
    }
  }
  SLUICE_ENFORCE(stated.empty() || stated == kernel,
                 ErrorCode::kInvalidArgument, "onnx.conv_kernel_shape",
                 "attribute kernel_shape is not the size of the filter, {}",
                 Printable(filter));
  return kernel;
}

std::string AsImage(Node& node, size_t dims, const std::string& x) {
  const Ints axes = AddedAxes(node, dims);
  if (axes.empty()) return x;
  return node.Unsqueeze(x, axes);
}

std::string FromImage(Node& node, size_t dims, const std::string& image) {
  const Ints axes = AddedAxes(node, dims);
  if (axes.empty()) return image;
  return node.Unary("squeeze", image, {{"axes", axes}});
}

std::string PadLate(Node& node,
                    const Windows& windows,
                    const std::string& image,
                    double value) {
  if (!windows.late) return image;
  Ints axes, least;  // the padding of a size that the stride divides
  for (size_t i = 0; i < windows.dims; ++i) {
    axes.push_back(static_cast<int64_t>(i) + 2);
    least.push_back((windows.kernel[i] - 1) * windows.dilations[i] + 1 -
                    windows.strides[i]);
  }
  const std::string zero = node.Whole(0), two = node.Whole(2);
  const std::string sizes = node.Unary("shape", image, {{"start", int64_t{2}}});
  const std::string back = node.Binary("elementwise_sub", {zero, sizes});
  const std::string rest =
      node.Binary("elementwise_mod", {back, node.Vector(windows.strides)});
  const std::string sum =
      node.Binary("elementwise_add", {rest, node.Vector(least)});
  const std::string padding = node.Binary("elementwise_max", {sum, zero});
  const std::string smaller =
      node.Binary("elementwise_floordiv", {padding, two});
  const std::string larger = node.Binary("elementwise_sub", {padding, smaller});
  const ArgVars sides =
      windows.more_before ? ArgVars{larger, smaller} : ArgVars{smaller, larger};
  return node.Append("pad", {{"X", {image}}, {"Pads", {node.Concat(sides)}}},
                     {{"axes", axes}, {"value", value}});
}

void FinishImage(Node& node,
                 size_t dims,
                 const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const std::string& argument) {
  const Ints axes = AddedAxes(node, dims);
  if (axes.empty()) {
    return node.Finish(type, std::move(inputs), std::move(attributes),
                       argument);
  }
  const std::string image =
      node.Append(type, std::move(inputs), std::move(attributes), argument);
  node.FinishUnary("squeeze", image, {{"axes", axes}});
}

std::string ChannelsFirst(Node& node, const std::string& image) {
  const int rank = node.DimsOf(image).rank();
  if (rank < 2) {
    Node::Unsupported("an image with channels last and {} dims",
                      rank < 0 ? "an unknown number of" : Format("{}", rank));
  }
  Ints order = {0, rank - 1};
  for (int64_t axis = 1; axis < rank - 1; ++axis) {
    order.push_back(axis);
  }
  return node.Transpose(image, order);
}

Ints ChannelsLastOrder(int rank) {
  Ints order = {0};
  for (int64_t axis = 2; axis < rank; ++axis) {
    order.push_back(axis);
  }
  order.push_back(1);
  return order;
}

void FinishChannelsLast(Node& node,
                        const std::string& type,
                        std::initializer_list<int> images) {
  ArgVars inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    inputs.push_back(node.HasInput(i) ? node.In(i) : "");
  }
  for (const int i : images) {
    if (node.HasInput(i)) inputs[i] = ChannelsFirst(node, inputs[i]);
  }
  const std::string result = node.AppendOperator(type, inputs);
  node.FinishUnary("transpose", result,
                   {{"axis", ChannelsLastOrder(node.DimsOf(result).rank())}});
}

Windows ReadWindows(Node& node, size_t dims, const Ints& kernel) {
  return ReadWindows(node, dims, kernel,
                     node.attributes().String("auto_pad", "NOTSET"));
}

Windows ReadWindows(Node& node,
                    size_t dims,
                    const Ints& kernel,
                    const std::string& auto_pad) {
  const size_t rank = WindowRank(node);
  SLUICE_ENFORCE(kernel.size() == rank, ErrorCode::kInvalidArgument,
                 "onnx.kernel_shape",
                 "the windows have {} dims; the input, of rank {}, takes {}",
                 kernel.size(), rank + 2, rank);
  Windows windows;
  windows.dims = dims;
  windows.kernel = ForDims(node, dims, kernel, 1);
  windows.strides =
      ForDims(node, dims, WindowInts(node, "strides", rank, 1), 1);
  windows.dilations =
      ForDims(node, dims, WindowInts(node, "dilations", rank, 1), 1);
  const Ints pads = WindowInts(node, "pads", 2 * rank, 0);
  CheckWindowNumbers(windows.kernel, "kernel_shape");
  CheckWindowNumbers(windows.strides, "strides");
  CheckWindowNumbers(windows.dilations, "dilations");
  CheckWindowNumbers(pads, "pads");
  if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) {
    Node::Unsupported("a negative padding");
  }
  windows.paddings.assign(2 * dims, 0);
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    windows.more_before = auto_pad == "SAME_LOWER";
    PadSame(node, &windows);
    return windows;
  }
  SLUICE_ENFORCE(auto_pad == "NOTSET" || auto_pad == "VALID",
                 ErrorCode::kInvalidArgument, "onnx.auto_pad",
                 "attribute auto_pad is {}; expected NOTSET, SAME_UPPER, "
                 "SAME_LOWER or VALID",
                 Shown(auto_pad));
  if (auto_pad == "VALID") return windows;
  // In ONNX all begin pads come before all end pads.
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = 2 * (dims - rank + i);
    windows.paddings[at] = pads[i];
    windows.paddings[at + 1] = pads[rank + i];
  }
  return windows;
}

}  // namespace sluice::onnx
