#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

Inputs ConvInputs(Node& node, const Windows& windows) {
  const std::string image = AsImage(node, windows.dims, node.In(0));
  Inputs inputs = {{"Input", {PadLate(node, windows, image)}},
                   {"Filter", {AsImage(node, windows.dims, node.In(1))}}};
  if (node.HasInput(2)) inputs.push_back({"Bias", {node.In(2)}});
  return inputs;
}

AttributeMap ConvAttributes(Node& node, const Windows& windows) {
  return {{"strides", windows.strides},
          {"paddings", windows.paddings},
          {"dilations", windows.dilations},
          {"groups", node.attributes().Int("group", 1)}};
}

void Conv(Node& node) {
  const size_t dims = ImageDims(node);
  const Windows windows = ReadWindows(node, dims, KernelOf(node, 1));
  FinishImage(node, dims, dims == 2 ? "conv2d" : "conv3d",
              ConvInputs(node, windows), ConvAttributes(node, windows),
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
  AttributeMap attributes = ConvAttributes(node, windows);
  attributes["output_padding"] = output_padding;
  FinishImage(node, dims, dims == 2 ? "conv2d_transpose" : "conv3d_transpose",
              ConvInputs(node, windows), std::move(attributes), "Output");
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
    signal = node.Concat({node.In(3), node.In(0)}, 2);
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
  Inputs inputs = {{"Input", {node.Unsqueeze(signal, {2})}},
                   {"Filter", {node.Unsqueeze(node.In(1), {2})}}};
  if (node.HasInput(2)) inputs.push_back({"Bias", {node.In(2)}});
  std::string image = node.Append("conv2d", std::move(inputs),
                                  {{"groups", filter[0]}}, "Output");
  if (swish) image = node.Unary("swish", image);
  node.FinishUnary("squeeze", image, {{"axes", Ints{2}}});
}

void DeformConv(Node& node) {
  if (WindowRank(node) != 2) {
    Node::Unsupported("its input has shape {}; there is a kernel for images",
                      node.Dims(0));
  }
  const Windows windows = ReadWindows(node, 2, KernelOf(node, 1));
  Inputs inputs = {{"Input", {node.In(0)}},
                   {"Offset", {node.In(2)}},
                   {"Filter", {node.In(1)}}};
  if (node.HasInput(3)) inputs.push_back({"Bias", {node.In(3)}});
  if (node.HasInput(4)) inputs.push_back({"Mask", {node.In(4)}});
  AttributeMap attributes = ConvAttributes(node, windows);
  attributes["deformable_groups"] = node.attributes().Int("offset_group", 1);
  node.Finish("deformable_conv", std::move(inputs), std::move(attributes),
              "Output");
}

// Returns whether the last window may extend past the padding, with ceil_mode.
bool ReachesPastPadding(Node& node) {
  const size_t rank = WindowRank(node);
  const Windows windows = ReadWindows(node, std::max<size_t>(rank, 2),
                                      node.attributes().Ints("kernel_shape"));
  for (size_t i = 0; i < windows.dims; ++i) {
    const int64_t size = ImageSize(node, windows.dims, i);
    const int64_t stride = windows.strides[i];
    if (size < 0 || stride < 1) return true;
    const int64_t more = windows.paddings[2 * i] + windows.paddings[2 * i + 1] -
                         windows.kernel[i];
    if ((size % stride + more % stride) % stride != 0) return true;
  }
  return false;
}

struct Pooling {
  Windows windows;
  std::string op;
  AttributeMap attributes;
};

// Reads pool2d if it computes the same, since it is faster, else pool3d.
Pooling ReadPooling(Node& node,
                    const char* type,
                    bool exclusive,
                    bool needs_mask = false) {
  const Ints kernel = node.attributes().Ints("kernel_shape");
  const bool ceil = node.attributes().Flag("ceil_mode");
  const size_t rank = WindowRank(node);
  Windows windows = ReadWindows(node, std::max<size_t>(rank, 2), kernel);
  const bool dilated = windows.dilations != Ints(windows.dims, 1);
  if (windows.dims == 2 && (dilated || needs_mask)) {
    windows = ReadWindows(node, 3, kernel);
  }
  Pooling pooling = {windows,
                     windows.dims == 2 ? "pool2d" : "pool3d",
                     {{"pooling_type", std::string(type)},
                      {"ksize", windows.kernel},
                      {"strides", windows.strides},
                      {"paddings", windows.paddings},
                      {"exclusive", exclusive},
                      {"ceil_mode", ceil}}};
  if (windows.dims == 3) pooling.attributes["dilations"] = windows.dilations;
  return pooling;
}

// Whether input 0 has integers without kernels; float32 represents all of them.
bool IsWidened(const Node& node) {
  return node.TypeOf(0) == DType::kInt8 || node.TypeOf(0) == DType::kUInt8;
}

std::string Computable(Node& node, const Pooling& pooling) {
  std::string x = AsImage(node, pooling.windows.dims, node.In(0));
  if (!IsWidened(node)) return x;
  return node.Unary("cast", x, {{"dtype", DType::kFloat32}});
}

// Makes `image`, computed from Computable's result, output 0.
void FinishAs(Node& node, const Pooling& pooling, const std::string& image) {
  const std::string out = FromImage(node, pooling.windows.dims, image);
  if (!IsWidened(node)) return node.FinishUnary("assign", out);
  node.FinishUnary("cast", out, {{"dtype", node.TypeOf(0)}});
}

// With late paddings, the mean of x and zeros is divided by that of ones and
// zeros if the padding does not count.
void FinishLatePool(Node& node, Pooling pooling, const std::string& x) {
  const auto pool = [&](const std::string& image, double padding) {
    return node.Unary(pooling.op,
                      PadLate(node, pooling.windows, image, padding),
                      pooling.attributes);
  };
  if (std::get<std::string>(pooling.attributes["pooling_type"]) == "max") {
    return FinishAs(node, pooling,
                    pool(x, -std::numeric_limits<double>::infinity()));
  }
  const bool exclusive =
      std::get<bool>(std::exchange(pooling.attributes["exclusive"], false));
  if (!exclusive) return FinishAs(node, pooling, pool(x, 0));
  const std::string ones =
      node.Append("fill_constant", {{"Shape", {node.Unary("shape", x)}}},
                  {{"dtype", node.DTypeOf(x)}, {"value", 1.0}});
  FinishAs(node, pooling,
           node.Binary("elementwise_div", {pool(x, 0), pool(ones, 0)}));
}

void FinishPool(Node& node, const Pooling& pooling) {
  const std::string x = Computable(node, pooling);
  if (pooling.windows.late) return FinishLatePool(node, pooling, x);
  if (!IsWidened(node)) {
    return FinishImage(node, pooling.windows.dims, pooling.op, {{"X", {x}}},
                       pooling.attributes);
  }
  FinishAs(node, pooling, node.Unary(pooling.op, x, pooling.attributes));
}

// Output 1 is the index of the maxima in X. With storage_order 1 it is
// column-major, so rows and columns are swapped.
void MaxPoolWithIndices(Node& node, const Pooling& pooling, bool by_columns) {
  const auto swapped = [&](const std::string& image) {
    if (!by_columns) return image;
    return node.Transpose(image, {0, 1, 2, 4, 3});
  };
  AttributeMap attributes = pooling.attributes;
  if (by_columns) {
    for (const char* name : {"ksize", "strides", "dilations"}) {
      auto& numbers = std::get<Ints>(attributes[name]);
      std::swap(numbers[1], numbers[2]);
    }
    auto& paddings = std::get<Ints>(attributes["paddings"]);
    std::swap_ranges(paddings.begin() + 2, paddings.begin() + 4,
                     paddings.begin() + 4);
  }
  const Names results =
      node.AppendAll("pool3d", {{"X", {swapped(Computable(node, pooling))}}},
                     attributes, {"Out", "Mask"});
  FinishAs(node, pooling, swapped(results[0]));
  node.FinishOutput(
      1, "assign",
      {{"X", {FromImage(node, pooling.windows.dims, swapped(results[1]))}}});
}

void MaxPool(Node& node) {
  const bool indices = node.HasOutput(1);
  const bool by_columns = node.attributes().Int("storage_order", 0) == 1;
  const Pooling pooling = ReadPooling(node, "max", true, indices);
  if (indices) {
    if (pooling.windows.late) {
      Node::Unsupported(
          "indices of its maxima with auto_pad = SAME and sizes that are known "
          "only when the model runs");
    }
    if (by_columns && WindowRank(node) != 2) {
      Node::Unsupported("storage_order = 1 of other inputs than images");
    }
    return MaxPoolWithIndices(node, pooling, by_columns);
  }
  FinishPool(node, pooling);
}

// Puts maxima where a MaxPool found them, among zeros. The size is that of the
// MaxPool's input, or input 2, which has zeros beyond it.
void MaxUnpool(Node& node) {
  const size_t rank = WindowRank(node);
  const Ints kernel = node.attributes().Ints("kernel_shape");
  const Windows windows = ReadWindows(node, rank, kernel);
  Ints more;  // by which windows without a stride are longer
  for (size_t i = 0; i < rank; ++i) {
    more.push_back(windows.kernel[i] - windows.strides[i] -
                   windows.paddings[2 * i] - windows.paddings[2 * i + 1]);
  }
  const std::string shape = node.Unary("shape", node.In(0));
  const std::string steps = node.Binary(
      "elementwise_mul",
      {node.Slice(shape, 2, INT64_MAX), node.Vector(windows.strides)});
  const std::string sizes =
      node.Concat({node.Slice(shape, 0, 2),
                   node.Binary("elementwise_add", {steps, node.Vector(more)})});
  const std::string zeros = node.Append(
      "expand",
      {{"X", {node.Number(0, node.TypeOf(0))}},
       {"Shape", {node.Reshape(node.Unary("reduce_prod", sizes), {1})}}});
  const std::string flat = node.Append(
      "scatter_elements", {{"X", {zeros}},
                           {"Index", {node.Reshape(node.In(1), {-1})}},
                           {"Updates", {node.Reshape(node.In(0), {-1})}}});
  const Inputs image = {{"X", {flat}}, {"Shape", {sizes}}};
  if (!node.HasInput(2)) return node.Finish("reshape", image);
  const std::string after = node.Binary("elementwise_sub", {node.In(2), sizes});
  const std::string before = node.Vector(Ints(rank + 2, 0));
  node.Finish("pad", {{"X", {node.Append("reshape", image)}},
                      {"Pads", {node.Concat({before, after})}}});
}

void AveragePool(Node& node) {
  const bool exclusive = !node.attributes().Flag("count_include_pad");
  FinishPool(node, ReadPooling(node, "avg", exclusive));
}

// Reads attribute p.
double OrderOf(Node& node) {
  const int64_t p = node.attributes().Int("p", 2);
  SLUICE_ENFORCE(p >= 1, ErrorCode::kInvalidArgument, "onnx.pool_order",
                 "attribute p is {}; expected 1 or more", p);
  return static_cast<double>(p);
}

// Computed in float64, in which powers of float32 are finite.
std::string Power(Node& node, const std::string& x, double exponent) {
  const std::string number =
      node.NewConstant(Tensor::FromVector<double>({}, {exponent}));
  return node.Binary("elementwise_pow", {x, number});
}

// Computes |x|^p.
std::string PowerOfSize(Node& node, const std::string& x, double p) {
  const std::string number = node.Cast(x, DType::kFloat64);
  return Power(node, node.Unary("abs", number), p);
}

// The p-th root of the sum of |x|^p over a window, whose padding is 0. The sum
// is the mean times the number of elements.
void LpPool(Node& node) {
  const Pooling pooling = ReadPooling(node, "avg", false);
  const bool ceil = std::get<bool>(pooling.attributes.at("ceil_mode"));
  const double p = OrderOf(node);
  double count = 1;
  for (const int64_t size : std::get<Ints>(pooling.attributes.at("ksize"))) {
    count *= static_cast<double>(size);
  }
  // The mean of such a window would divide by fewer elements.
  if (ceil && ReachesPastPadding(node)) {
    Node::Unsupported("ceil_mode with windows that reach past the padding");
  }
  const std::string image = PadLate(
      node, pooling.windows, AsImage(node, pooling.windows.dims, node.In(0)));
  const std::string mean =
      node.Unary(pooling.op, PowerOfSize(node, image, p), pooling.attributes);
  const std::string sum = node.Unary("scale", mean, {{"scale", count}});
  const std::string root = Power(node, sum, 1 / p);
  node.FinishUnary("cast", FromImage(node, pooling.windows.dims, root),
                   {{"dtype", node.TypeOf(0)}});
}

// Attributes of a reduction over all dims but the first two, keeping dims of 1.
AttributeMap OverImage(const Node& node) {
  Ints dims;
  for (int64_t i = 2; i < RankOf(node, 0); ++i) {
    dims.push_back(i);
  }
  return {{"dim", dims}, {"keep_dim", true}};
}

void GlobalPool(Node& node) {
  const std::string type = node.type() == "GlobalMaxPool" ? "max" : "avg";
  const int rank = RankOf(node, 0);
  if (rank == 4) {
    return node.FinishUnary("pool2d", node.In(0),
                            {{"pooling_type", type}, {"global_pooling", true}});
  }
  if (rank < 3) return node.FinishUnary("assign", node.In(0));
  node.FinishUnary(type == "max" ? "reduce_max" : "reduce_mean", node.In(0),
                   OverImage(node));
}

void GlobalLpPool(Node& node) {
  const double p = OrderOf(node);
  std::string sum = PowerOfSize(node, node.In(0), p);
  if (RankOf(node, 0) > 2) {
    sum = node.Unary("reduce_sum", sum, OverImage(node));
  }
  node.FinishUnary("cast", Power(node, sum, 1 / p),
                   {{"dtype", node.TypeOf(0)}});
}

// Operators of onnxruntime.
void NhwcConv(Node& node) {
  FinishChannelsLast(node, "Conv", {0});
}
void NhwcFusedConv(Node& node) {
  FinishChannelsLast(node, "com.microsoft.FusedConv", {0, 3});
}
void NhwcMaxPool(Node& node) {
  FinishChannelsLast(node, "MaxPool", {0});
}

}  // namespace

const HandlerTable kConvHandlers = {
    {"CausalConvWithState", 1, CausalConvWithState},
    {"Conv", 1, Conv},
    {"ConvTranspose", 1, ConvTranspose},
    {"DeformConv", 19, DeformConv},
    {"AveragePool", 1, AveragePool},
    {"GlobalAveragePool GlobalMaxPool", 1, GlobalPool},
    {"GlobalLpPool", 2, GlobalLpPool},
    {"LpPool", 2, LpPool},
    {"MaxPool", 1, MaxPool},
    {"MaxUnpool", 9, MaxUnpool},
    {"com.microsoft.NhwcConv", 1, NhwcConv},
    {"com.microsoft.NhwcFusedConv", 1, NhwcFusedConv},
    {"com.microsoft.NhwcMaxPool", 1, NhwcMaxPool},
};

}  // namespace sluice::onnx
