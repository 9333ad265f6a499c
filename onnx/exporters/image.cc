#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

// [height, width], or [top, bottom, left, right], in ONNX's order.
Ints PadsOf(const OpExport& op) {
  const Ints& ours = op.List("paddings");
  if (ours.size() == 2) return {ours[0], ours[1], ours[0], ours[1]};
  return {ours[0], ours[2], ours[1], ours[3]};
}

bool HasLastChannels(const OpExport& op) {
  return op.String("data_format") == "NHWC";
}

std::string Image(OpExport& op, const char* input) {
  if (!HasLastChannels(op)) return op.In(input);
  return op.Transpose(op.In(input), ChannelsSecond(op.Rank(input)));
}

void FinishImage(OpExport& op,
                 const std::string& type,
                 const Names& inputs,
                 const AttributeMap& attributes,
                 const char* output) {
  if (!HasLastChannels(op)) {
    return op.Finish(type, inputs, attributes, output);
  }
  op.Finish("Transpose", {op.Append(type, inputs, attributes)},
            {{"perm", ChannelsLast(4)}}, output);
}

AttributeMap ConvAttributes(const OpExport& op) {
  AttributeMap attributes = {{"strides", op.Attr("strides")},
                             {"pads", PadsOf(op)},
                             {"dilations", op.Attr("dilations")},
                             {"group", op.Attr("groups")}};
  const DDim filter = op.Dims("Filter");
  if (filter.known()) attributes["kernel_shape"] = Ints{filter[2], filter[3]};
  return attributes;
}

Names ConvInputs(OpExport& op) {
  return {Image(op, "Input"), op.In("Filter"), op.In("Bias")};
}

void Conv(OpExport& op) {
  FinishImage(op, "Conv", ConvInputs(op), ConvAttributes(op), "Output");
}

void ConvTranspose(OpExport& op) {
  AttributeMap attributes = ConvAttributes(op);
  attributes["output_padding"] = op.Attr("output_padding");
  FinishImage(op, "ConvTranspose", ConvInputs(op), attributes, "Output");
}

void Pool(OpExport& op) {
  const bool largest = op.String("pooling_type") == "max";
  const Names x = {Image(op, "X")};
  if (op.Bool("global_pooling")) {
    return FinishImage(op, largest ? "GlobalMaxPool" : "GlobalAveragePool", x,
                       {}, "Out");
  }
  const bool ceil = op.Bool("ceil_mode");
  AttributeMap attributes = {{"kernel_shape", op.Attr("ksize")},
                             {"strides", op.Attr("strides")},
                             {"pads", PadsOf(op)},
                             {"ceil_mode", int64_t{ceil}}};
  if (!largest) {
    const bool exclusive = op.Bool("exclusive");
    if (ceil && !exclusive) {
      OpExport::Unsupported(
          "averages with ceil_mode that count the padding are divided by other "
          "numbers in ONNX");
    }
    attributes["count_include_pad"] = int64_t{!exclusive};
  }
  FinishImage(op, largest ? "MaxPool" : "AveragePool", x, attributes, "Out");
}

// The largest of each run of channels. Pixels are one dim meanwhile.
void Maxout(OpExport& op) {
  const DDim x = op.Dims("X");
  const int64_t groups = op.Int("groups");
  if (x.rank() != 4 || x[1] < 0) {
    OpExport::Unsupported("the number of its channels is unknown");
  }
  const int64_t channels = x[1] / groups;
  const bool known = x[2] >= 0 && x[3] >= 0;
  const int64_t pixels = known ? x[2] * x[3] : -1;
  const std::string runs =
      op.Reshape(op.In("X"), {0, channels, groups, pixels});
  const std::string largest = op.Append("ReduceMax", {runs, op.Vector({2})},
                                        {{"keepdims", int64_t{0}}});
  if (known && x[2] > 0 && x[3] > 0) {
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

void Resize(OpExport& op) {
  const auto has = [&](const char* operand, bool attribute) {
    return op.Has(operand) || attribute;
  };
  const bool sizes = has("Sizes", !op.List("sizes").empty());
  const auto& given = std::get<Doubles>(op.Attr("scales"));
  const bool scales = has("Scales", !given.empty());
  if (sizes && scales) {
    OpExport::Unsupported("Resize of ONNX takes sizes or scales, not both");
  }
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
  op.Finish("Resize",
            {op.In("X"), "", factors, sizes ? op.Operand("Sizes") : ""},
            {{"mode", op.Attr("mode")},
             {"coordinate_transformation_mode",
              op.Attr("coordinate_transformation_mode")},
             {"nearest_mode", op.Attr("nearest_mode")},
             {"cubic_coeff_a", op.Attr("cubic_coeff_a")},
             {"exclude_outside", op.Attr("exclude_outside")}});
}

constexpr ExporterRow kRows[] = {
    {"conv2d", Conv, Widened::kBFloat16, 22},
    {"conv2d_transpose", ConvTranspose, Widened::kBFloat16, 22},
    {"maxout", Maxout},
    {"pool2d", Pool, Widened::kBFloat16, 22},
    {"resize", Resize},
};

}  // namespace

std::span<const ExporterRow> ImageExporters() {
  return kRows;
}

}  // namespace sluice::onnx
