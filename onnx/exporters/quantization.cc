#include <vector>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

Names Inputs(OpExport& op) {
  Names inputs = {op.In("X"), op.In("Scale")};
  if (op.Has("ZeroPoint")) inputs.push_back(op.In("ZeroPoint"));
  return inputs;
}

void QuantizeLinear(OpExport& op) {
  constexpr int64_t kPrecision = 23;
  for (const DType dtype : {op.TypeOf("X"), op.TypeOf("Scale")}) {
    if (dtype == DType::kFloat64) {
      OpExport::Unsupported("QuantizeLinear of ONNX does not take float64");
    }
  }
  AttributeMap attributes = {{"axis", op.Attr("axis")},
                             {"block_size", op.Attr("block_size")},
                             {"output_dtype", op.OutType()},
                             {"saturate", op.Attr("saturate")}};
  const auto precision = std::get<DType>(op.Attr("precision"));
  if (op.opset() >= kPrecision) {
    if (precision == DType::kFloat64) {
      OpExport::Unsupported(
          "QuantizeLinear of ONNX divides in float32 at most");
    }
    attributes["precision"] = precision;
  } else if (op.TypeOf("X") != op.TypeOf("Scale")) {
    OpExport::Unsupported(
        "QuantizeLinear of ONNX takes a scale of another dtype from opset {} "
        "on",
        kPrecision);
  } else if (precision != op.TypeOf("Scale")) {
    OpExport::Unsupported(
        "QuantizeLinear of ONNX divides with another precision than that of "
        "the scale from opset {} on",
        kPrecision);
  }
  op.Finish("QuantizeLinear", Inputs(op), attributes);
}

void DequantizeLinear(OpExport& op) {
  constexpr int64_t kOutputDType = 23;
  AttributeMap attributes = {{"axis", op.Attr("axis")},
                             {"block_size", op.Attr("block_size")}};
  if (op.opset() >= kOutputDType) {
    attributes["output_dtype"] = op.OutType();
  } else if (op.OutType() != op.TypeOf("Scale")) {
    OpExport::Unsupported(
        "DequantizeLinear of ONNX gives another dtype than the scale's from "
        "opset {} on",
        kOutputDType);
  }
  op.Finish("DequantizeLinear", Inputs(op), attributes);
}

void BitCast(OpExport& op) {
  constexpr int64_t kBitCast = 26;
  if (op.opset() < kBitCast) {
    OpExport::Unsupported("BitCast is an operator of ONNX from opset {} on",
                          kBitCast);
  }
  op.Finish("BitCast", {op.In("X")}, {{"to", op.OutType()}});
}

constexpr ExporterRow kQuantizationRows[] = {
    {"bitcast", BitCast},
    {"dequantize_linear", DequantizeLinear},
    {"quantize_linear", QuantizeLinear}};

}  // namespace

std::span<const ExporterRow> QuantizationExporters() {
  return kQuantizationRows;
}

}  // namespace sluice::onnx
