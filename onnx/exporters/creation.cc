#include <string>

#include "sluice/framework/run/run_op.h"
#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

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

// Floats are computed in float64 and rounded once.
void Range(OpExport& op) {
  const DType dtype = op.OutType();
  const bool floats = IsFloating(dtype);
  const DType computed = floats ? DType::kFloat64 : dtype;
  const auto number = [&](const char* operand, const char* attribute) {
    if (!op.Has(operand)) return op.Number(op.Float(attribute), computed);
    std::string value = op.In(operand);
    if (op.Dims(operand).rank() != 0) value = op.Reshape(value, {});
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

constexpr ExporterRow kCreationRows[] = {
    {"assign_value", AssignValue},
    {"fill_constant", FillConstant},
    {"gaussian_random", nullptr, Widened::kNone, 0, kRandom},
    {"range", Range},
    {"uniform_random", nullptr, Widened::kNone, 0, kRandom},
};

}  // namespace

std::span<const ExporterRow> CreationExporters() {
  return kCreationRows;
}

}  // namespace sluice::onnx
