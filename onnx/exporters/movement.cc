#include <cstdint>
#include <limits>
#include <string>

#include "sluice/framework/run/run_op.h"
#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

// In both, 0 copies a size. For empty tensors ONNX does not allow -1 beside it.
void Reshape(OpExport& op) {
  const DDim out = op.OutDims();
  if (!op.Has("Shape") && out.known() && out.numel() == 0) {
    return op.FinishReshape(op.In("X"), Ints(out.begin(), out.end()));
  }
  AttributeMap attributes;
  if (op.Bool("allow_zero")) attributes["allowzero"] = int64_t{1};
  op.Finish("Reshape", {op.In("X"), op.Operand("Shape")}, attributes);
}

void Cast(OpExport& op) {
  constexpr int64_t kRoundMode = 24;  // the only dtype that it affects
  AttributeMap attributes = {{"to", op.Attr("dtype")}};
  if (!op.Bool("saturate")) attributes["saturate"] = op.Attr("saturate");
  if (op.String("round_mode") != "up" && op.opset() >= kRoundMode) {
    attributes["round_mode"] = op.Attr("round_mode");
  }
  op.Finish("Cast", {op.In("X")}, attributes);
}

// Slices from the offsets on. The shape is that of Y or of the attribute, in
// which -1 means all remaining elements.
void Crop(OpExport& op) {
  const int rank = op.Rank("X");
  if (rank == 0) return op.Finish("Identity", {op.In("X")});
  const bool late = op.Has("Offsets");
  Ints offsets = op.List("offsets"), ends;
  if (offsets.empty()) offsets.assign(static_cast<size_t>(rank), 0);
  std::string starts = late ? op.In("Offsets") : op.Vector(offsets);
  if (late && op.TypeOf("Offsets") != DType::kInt64) {
    starts = op.Cast(starts, DType::kInt64);
  }
  std::string stops;
  if (op.Has("Y")) {
    stops = op.Append("Add", {starts, op.Append("Shape", {op.In("Y")})});
  } else if (late) {
    stops = op.Append("Add", {starts, op.Vector(op.List("shape"))});
  } else {
    for (size_t i = 0; i < offsets.size(); ++i) {
      const int64_t size = op.List("shape")[i];
      ends.push_back(size < 0 ? std::numeric_limits<int64_t>::max()
                              : offsets[i] + size);
    }
    stops = op.Vector(ends);
  }
  op.Finish("Slice", {op.In("X"), starts, stops});
}

// The fill value. Bools are padded as numbers, because ONNX cannot pad bools.
void Pad(OpExport& op) {
  const DType dtype = op.TypeOf("X");
  const bool constant = op.String("mode") == "constant";
  const bool given = op.Has("Value") || op.Float("value") != 0;
  const bool as_number = dtype == DType::kBool && constant && given;
  const DType computed = as_number ? DType::kUInt8 : dtype;
  const auto converted = [&](const std::string& x) {
    return as_number ? op.Cast(x, computed) : x;
  };
  std::string value;
  if (constant && op.Has("Value")) {
    value = converted(op.In("Value"));
    if (op.Dims("Value").rank() != 0) value = op.Reshape(value, {});
  } else if (constant && given) {
    value = op.Number(op.Float("value"), computed);
  }
  const bool all = !op.Has("Axes") && op.List("axes").empty();
  const Names inputs = {converted(op.In("X")), op.Operand("Pads"), value,
                        all ? "" : op.Operand("Axes")};
  const AttributeMap attributes = {{"mode", op.Attr("mode")}};
  if (!as_number) return op.Finish("Pad", inputs, attributes);
  op.Finish("Cast", {op.Append("Pad", inputs, attributes)}, {{"to", dtype}});
}

// Computes the op from its attributes alone.
Tensor ValueOf(const OpExport& op, const AttributeMap& attributes) {
  return RunOp(op.type(), {}, attributes).at("Out");
}

void AssignValue(OpExport& op) {
  AttributeMap attributes;
  for (const auto& def : op.schema().attributes()) {
    attributes[def.name] = op.Attr(def.name);
  }
  op.Finish("Identity", {op.Constant(ValueOf(op, attributes))});
}

void FillConstant(OpExport& op) {
  const Tensor value = ValueOf(op, {{"shape", Ints()},
                                    {"dtype", op.Attr("dtype")},
                                    {"value", op.Attr("value")}});
  op.Finish("Expand", {op.Constant(value), op.Operand("Shape")});
}

// Reads nothing of X but its shape.
void FillAnyLike(OpExport& op) {
  op.Finish("Expand", {op.Number(op.Float("value"), op.OutType()),
                       op.Append("Shape", {op.In("X")})});
}

// Floats are computed in float64 and rounded once.
void Range(OpExport& op) {
  const DType dtype = op.OutType();
  const bool floats = IsFloating(dtype);
  const DType computed = floats ? DType::kFloat64 : dtype;
  const auto number = [&](const char* operand, const char* attribute) {
    if (!op.Has(operand)) return op.Number(op.Float(attribute), computed);
    const std::string value = op.Scalar(operand);
    return computed == dtype ? value : op.Cast(value, computed);
  };
  const std::string start = number("Start", "start");
  const std::string end = number("End", "end");
  const Names numbers = {start, end, number("Step", "step")};
  if (computed == dtype) return op.Finish("Range", numbers);
  op.Finish("Cast", {op.Append("Range", numbers)}, {{"to", dtype}});
}

constexpr std::string_view kRandom =
    "ONNX does not say which random numbers its operators make, so that the "
    "model would have other ones";

}  // namespace

const ExporterTable kMovementExporters = {
    {"cast", Cast},
    {"crop", Crop},
    {"pad", Pad},
    {"reshape", Reshape},
    {"assign_value", AssignValue},
    {"fill_any_like", FillAnyLike},
    {"fill_constant", FillConstant},
    {"gaussian_random uniform_random", nullptr, Widened::kNone, 0, kRandom},
    {"range", Range},
};

}  // namespace sluice::onnx
