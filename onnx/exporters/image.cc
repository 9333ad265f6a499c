#include <algorithm>
#include <cmath>
#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

// Reorders one padding a dim, or pairs [top, bottom, left, right], for ONNX.
Ints PadsOf(const OpExport& op) {
  const Ints& ours = op.List("paddings");
  const size_t dims = op.List("strides").size();
  const bool both = ours.size() == 2 * dims;
  Ints pads(2 * dims);
  for (size_t i = 0; i < dims; ++i) {
    pads[i] = ours[both ? 2 * i : i];
    pads[dims + i] = ours[both ? 2 * i + 1 : i];
  }
  return pads;
}

AttributeMap ConvAttributes(const OpExport& op) {
  AttributeMap attributes = {{"strides", op.Attr("strides")},
                             {"pads", PadsOf(op)},
                             {"dilations", op.Attr("dilations")},
                             {"group", op.Attr("groups")}};
  const DDim filter = op.Dims("Filter");
  if (filter.known()) {
    attributes["kernel_shape"] = Ints(filter.begin() + 2, filter.end());
  }
  return attributes;
}

Names ConvInputs(OpExport& op) {
  return {op.Image(), op.In("Filter"), op.In("Bias")};
}

void Conv(OpExport& op) {
  op.FinishImage("Conv", ConvInputs(op), ConvAttributes(op), "Output");
}

void ConvTranspose(OpExport& op) {
  AttributeMap attributes = ConvAttributes(op);
  attributes["output_padding"] = op.Attr("output_padding");
  op.FinishImage("ConvTranspose", ConvInputs(op), attributes, "Output");
}

// Computes pads that yield the op's number of windows, instead of ceil_mode:
// ONNX versions disagree about its last window. Returns false if sizes are
// unknown.
bool PadForWindows(const OpExport& op, const Ints& dilations, Ints* pads) {
  const int height = op.HasLastChannels() ? 1 : 2;
  const DDim x = op.Dims("X"), out = op.OutDims();
  if (!x.rank_known()) return false;
  const size_t dims = op.List("ksize").size();
  for (size_t at = 0; at < dims; ++at) {
    const int i = height + static_cast<int>(at);
    const int64_t size = x[i], count = out[i];
    if (size < 0 || count < 0) return false;
    const int64_t reached = (count - 1) * op.List("strides")[at] +
                            (op.List("ksize")[at] - 1) * dilations[at] + 1;
    const int64_t padded = size + (*pads)[at] + (*pads)[at + dims];
    (*pads)[at + dims] += std::max<int64_t>(reached - padded, 0);
  }
  return true;
}

// Returns whether ONNX's ceil_mode adds a window of only padding.
bool HasEmptyWindow(const OpExport& op,
                    const Ints& dilations,
                    const Ints& pads) {
  const int height = op.HasLastChannels() ? 1 : 2;
  const DDim x = op.Dims("X"), out = op.OutDims();
  if (!x.rank_known()) return false;
  const size_t dims = op.List("ksize").size();
  for (size_t at = 0; at < dims; ++at) {
    const int i = height + static_cast<int>(at);
    if (x[i] < 0 || out[i] < 0) continue;
    const int64_t stride = op.List("strides")[at];
    const int64_t extent = (op.List("ksize")[at] - 1) * dilations[at] + 1;
    const int64_t steps = x[i] + pads[at] + pads[at + dims] - extent;
    if ((steps + stride - 1) / stride + 1 != out[i]) return true;
  }
  return false;
}

void AddCeilAndPads(const OpExport& op,
                    const Ints& dilations,
                    AttributeMap* attributes) {
  const bool ceil = op.Bool("ceil_mode");
  // Padding added here would be counted in the average.
  const bool counted =
      op.String("pooling_type") == "avg" && !op.Bool("exclusive");
  Ints pads = PadsOf(op);
  const bool replaced = ceil && !counted && PadForWindows(op, dilations, &pads);
  if (ceil && counted && HasEmptyWindow(op, dilations, pads)) {
    OpExport::Unsupported(
        "averages with ceil_mode that count the padding have a window of "
        "nothing but padding in ONNX");
  }
  (*attributes)["pads"] = pads;
  (*attributes)["ceil_mode"] = int64_t{ceil && !replaced};
}

void Pool(OpExport& op) {
  const bool largest = op.String("pooling_type") == "max";
  const Names x = {op.Image()};
  if (op.Bool("global_pooling")) {
    return op.FinishImage(largest ? "GlobalMaxPool" : "GlobalAveragePool", x,
                          {}, "Out");
  }
  AttributeMap attributes = {{"kernel_shape", op.Attr("ksize")},
                             {"strides", op.Attr("strides")}};
  AddCeilAndPads(op, Ints(op.List("ksize").size(), 1), &attributes);
  if (!largest) {
    attributes["count_include_pad"] = int64_t{!op.Bool("exclusive")};
  }
  op.FinishImage(largest ? "MaxPool" : "AveragePool", x, attributes, "Out");
}

void Pool3d(OpExport& op) {
  const Ints& dilations = op.List("dilations");
  AttributeMap attributes = {{"kernel_shape", op.Attr("ksize")},
                             {"strides", op.Attr("strides")},
                             {"dilations", dilations}};
  AddCeilAndPads(op, dilations, &attributes);
  if (op.String("pooling_type") == "max") {
    const Names x = {op.In("X")};
    if (op.IsRead("Mask")) {
      return op.FinishAll("MaxPool", x, attributes, {"Out", "Mask"});
    }
    return op.Finish("MaxPool", x, attributes);
  }
  op.AllowOnly({"Out"});
  if (dilations == Ints{1, 1, 1}) {
    attributes.erase("dilations");
  } else if (op.opset() < 19) {
    OpExport::Unsupported("AveragePool of ONNX has dilations from opset 19 on");
  }
  attributes["count_include_pad"] = int64_t{!op.Bool("exclusive")};
  op.Finish("AveragePool", {op.In("X")}, attributes);
}

// The maximum of each run of channels. Pixels are flattened to one dim.
void Maxout(OpExport& op) {
  const DDim x = op.Dims("X");
  const int64_t groups = op.Int("groups");
  if (x.rank() != 4 || x[1] < 0) {
    OpExport::Unsupported("the number of its channels is unknown");
  }
  const int64_t channels = x[1] / groups;
  if (x.known() && x.numel() == 0) {  // keep the sizes of an empty tensor
    const DDim out = op.OutDims();
    return op.FinishReshape(op.In("X"), Ints(out.begin(), out.end()));
  }
  const bool known = x[2] >= 0 && x[3] >= 0;
  const std::string runs =
      op.Reshape(op.In("X"), {0, channels, groups, known ? x[2] * x[3] : -1});
  const std::string largest = op.Append("ReduceMax", {runs, op.Vector({2})},
                                        {{"keepdims", int64_t{0}}});
  if (known) {
    return op.Finish("Reshape",
                     {largest, op.Vector({0, channels, x[2], x[3]})});
  }
  const std::string images =
      op.Append("Shape", {op.In("X")}, {{"end", int64_t{1}}});
  const std::string sizes =
      op.Append("Shape", {op.In("X")}, {{"start", int64_t{2}}});
  op.Finish(
      "Reshape",
      {largest, op.Append("Concat", {images, op.Vector({channels}), sizes},
                          {{"axis", int64_t{0}}})});
}

// Returns whether ONNX computes the same sizes from the scales.
bool AreSizesOfScales(const OpExport& op, const Doubles& scales) {
  const DDim x = op.Dims("X");
  const Ints& sizes = op.List("sizes");
  if (op.Has("Sizes") || op.Has("Scales") || !x.known() ||
      x.rank() != static_cast<int>(scales.size())) {
    return false;
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    const double size = std::floor(static_cast<double>(x[static_cast<int>(i)]) *
                                   static_cast<float>(scales[i]));
    if (size != static_cast<double>(sizes[i])) return false;
  }
  return true;
}

void Resize(OpExport& op) {
  const auto& given = std::get<Doubles>(op.Attr("scales"));
  bool sizes = op.Has("Sizes") || !op.List("sizes").empty();
  const bool scales = op.Has("Scales") || !given.empty();
  if (sizes && scales) {
    if (!AreSizesOfScales(op, given)) {
      OpExport::Unsupported(
          "Resize of ONNX takes sizes or scales, and these scales do not give "
          "these sizes");
    }
    sizes = false;
  }
  if (!sizes && !scales) return op.Finish("Identity", {op.In("X")});
  std::string factors;
  if (op.Has("Scales")) {
    factors = op.In("Scales");
    if (op.TypeOf("Scales") != DType::kFloat32) {
      factors = op.Cast(factors, DType::kFloat32);
    }
  } else if (scales) {
    factors = op.Constant(Tensor::FromVector<float>(
        {static_cast<int64_t>(given.size())}, {given.begin(), given.end()}));
  }
  const auto& bounds = std::get<Doubles>(op.Attr("roi"));
  std::string roi;
  if (op.Has("Roi")) {
    roi = op.In("Roi");
  } else if (!bounds.empty()) {
    roi = op.Constant(Tensor::FromVector<double>(
        {static_cast<int64_t>(bounds.size())}, bounds));
  }
  AttributeMap attributes;
  for (const char* name :
       {"mode", "coordinate_transformation_mode", "nearest_mode",
        "cubic_coeff_a", "exclude_outside", "extrapolation_value"}) {
    attributes[name] = op.Attr(name);
  }
  if (op.Bool("antialias")) {
    if (op.opset() < 18) {
      OpExport::Unsupported("Resize of ONNX has antialias from opset 18 on");
    }
    attributes["antialias"] = int64_t{1};
  }
  op.Finish("Resize",
            {op.In("X"), roi, factors, sizes ? op.Operand("Sizes") : ""},
            attributes);
}

// In opset 20 the axis became an input.
void Dft(OpExport& op) {
  const DDim x = op.Dims("X");
  const bool complex = x.rank() > 0 && x[x.rank() - 1] == 2;
  if (op.Bool("onesided") && complex != op.Bool("inverse")) {
    OpExport::Unsupported(
        "DFT of ONNX gives one side of real numbers, and makes real numbers of "
        "one side");
  }
  const bool whole = !op.Has("DftLength") && op.Int("dft_length") == 0;
  const std::string length =
      whole ? "" : op.Reshape(op.Operand("DftLength"), {});
  AttributeMap attributes = {{"inverse", int64_t{op.Bool("inverse")}},
                             {"onesided", int64_t{op.Bool("onesided")}}};
  if (op.opset() >= 20) {
    return op.Finish("DFT",
                     {op.In("X"), length, op.Reshape(op.Operand("Axis"), {})},
                     attributes);
  }
  if (op.opset() < 17 || op.Has("Axis")) {
    OpExport::Unsupported(
        "DFT is an operator of ONNX from opset 17 on, and takes a computed "
        "axis from opset 20 on");
  }
  attributes["axis"] = op.Attr("axis");
  op.Finish("DFT", {op.In("X"), length}, attributes);
}

void DeformableConv(OpExport& op) {
  if (op.opset() < 19) {
    OpExport::Unsupported("DeformConv is an operator of ONNX from opset 19 on");
  }
  AttributeMap attributes = ConvAttributes(op);
  attributes["offset_group"] = op.Attr("deformable_groups");
  op.Finish("DeformConv",
            {op.In("Input"), op.In("Filter"), op.In("Offset"), op.In("Bias"),
             op.In("Mask")},
            attributes, "Output");
}

}  // namespace

const ExporterTable kImageExporters = {
    {"conv2d", Conv, Widened::kBFloat16, 22},
    {"conv2d_transpose", ConvTranspose, Widened::kBFloat16, 22},
    {"conv3d", Conv},
    {"conv3d_transpose", ConvTranspose},
    {"deformable_conv", DeformableConv},
    {"dft", Dft},
    {"maxout", Maxout},
    {"pool2d", Pool, Widened::kBFloat16, 22},
    {"pool3d", Pool3d},
    {"resize", Resize},
};

}  // namespace sluice::onnx
