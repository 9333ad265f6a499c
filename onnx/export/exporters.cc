#include "sluice/onnx/export/exporters.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/number_format.h"

namespace sluice::onnx {

namespace {

using Table = std::map<std::string_view, const ExporterRow*>;

const Table& AllExporters() {
  static const Table* const kTable = [] {
    auto* rows = new Table();  // never freed: it may be read at exit
    for (const auto& family :
         {kContractionExporters, kControlFlowExporters, kElementwiseExporters,
          kImageExporters, kIndexingExporters, kMovementExporters,
          kNormExporters, kRecurrentExporters}) {
      for (const ExporterRow& row : family) {
        for (const std::string_view op : WordsOf(row.ops)) {
          (*rows)[op] = &row;
        }
      }
    }
    return rows;
  }();
  return *kTable;
}

// Raises if the opset lacks a dtype of the op.
void CheckDTypes(const OpDesc& op, const GraphWriter& graph) {
  for (const auto* arguments : {&op.inputs, &op.outputs}) {
    for (const auto& [argument, vars] : *arguments) {
      for (const std::string& var : vars) {
        const DType dtype = graph.Var(var).dtype;
        const int since = FormatOf(dtype).onnx_since;
        if (graph.opset() >= since) continue;
        OpExport::Unsupported("ONNX has no {} in opset {}; opset {} has it",
                              dtype, graph.opset(), since);
      }
    }
  }
}

}  // namespace

void ExportOp(const OpDesc& op, GraphWriter* graph) {
  CheckDTypes(op, *graph);
  const auto found = AllExporters().find(op.type);
  if (found != AllExporters().end()) {
    const ExporterRow& row = *found->second;
    if (row.exporter == nullptr) OpExport::Unsupported("{}", row.reason);
    const bool taken =
        row.bfloat16_since > 0 && graph->opset() >= row.bfloat16_since;
    OpExport node(op, taken ? Widened::kNone : row.widened, graph);
    return row.exporter(node);
  }
  const OpSchema& schema = Registry::Global().Schema(op.type);
  if (schema.onnx().op_type.empty()) {
    OpExport::Unsupported("ONNX has no operator that computes the same");
  }
  ExportCounterpart(op, graph);
}

namespace {

// Restrictions of ONNX operators in older opsets.
struct Limit {
  std::string_view types;
  int64_t bfloat16_since = 0;  // 0: they always accepted bfloat16
  int64_t since = 0;           // the first opset that has them
};

constexpr Limit kLimits[] = {
    {"AffineGrid GridSample", 0, 20},
    {"CumProd", 0, 26},
    {"RoiAlign", 0, 16},
    {"Shrink", 99},
    {"Acos Acosh Asin Asinh Atan Atanh Cos Cosh Det Elu HardSigmoid HardSwish "
     "Mish Round Selu Sin Sinh Softplus Softsign Tan ThresholdedRelu",
     22}};

Limit LimitOf(std::string_view type) {
  for (const Limit& limit : kLimits) {
    for (const std::string_view word : WordsOf(limit.types)) {
      if (word == type) return limit;
    }
  }
  return {};
}

// The boolean equivalent of an ONNX operator that does not accept bool. The
// input with index `negated` is negated first.
struct OfBools {
  std::string_view type;
  const char* same;
  int negated = -1;
};

constexpr OfBools kOfBools[] = {
    {"Add", "Or"},         {"Mul", "And"},
    {"Max", "Or"},         {"Min", "And"},
    {"Less", "And", 0},    {"LessOrEqual", "Or", 0},
    {"Greater", "And", 1}, {"GreaterOrEqual", "Or", 1}};

// Returns the operator to write, and changes `inputs` to match it.
std::string TypeFor(OpExport& op, const std::string& type, Names* inputs) {
  for (const OfBools& row : kOfBools) {
    if (row.type != type || op.TypeOf("X") != DType::kBool) continue;
    if (row.negated >= 0) {
      std::string& input = (*inputs)[static_cast<size_t>(row.negated)];
      input = op.Append("Not", {input});
    }
    return row.same;
  }
  return type;
}

// Returns a constant input for an attribute that ONNX has as an input, or ""
// for an empty list, which means the same as omitting the input.
std::string OperandOf(OpExport& op, const ArgDef& def) {
  const AttrDef& attr = *op.schema().FindAttr(def.attribute);
  if (attr.type != AttrType::kFloat) {
    const bool nothing = !op.Has(def.name) && attr.type == AttrType::kInts &&
                         op.List(def.attribute).empty() &&
                         attr.default_value.has_value();
    return nothing ? "" : op.Operand(def.name);
  }
  if (!op.Has(def.name)) {
    return op.Number(op.Float(def.attribute), op.TypeOf("X"));
  }
  return op.Scalar(def.name);
}

bool IsOperandOf(const OpSchema& schema, const std::string& attribute) {
  return std::any_of(
      schema.inputs().begin(), schema.inputs().end(),
      [&](const ArgDef& def) { return def.attribute == attribute; });
}

const std::string& NameOf(const OpSchema& schema, const std::string& ours) {
  for (const auto& [theirs, other] : schema.onnx().attributes) {
    if (other == ours) return theirs;
  }
  return ours;
}

// Attributes of Sluice's ops that ONNX's operators lack: axis of two operands,
// reduce_all of reductions, flatten of scans, data_format of images.
bool IsOwn(const OpSchema& schema, const std::string& attribute) {
  return attribute == "reduce_all" || attribute == "flatten" ||
         attribute == "data_format" ||
         (attribute == "axis" && schema.FindInput("Y") != nullptr);
}

AttributeMap AttributesOf(const OpExport& op) {
  AttributeMap attributes;
  for (const AttrDef& def : op.schema().attributes()) {
    if (IsOperandOf(op.schema(), def.name) || IsOwn(op.schema(), def.name)) {
      continue;
    }
    const Attribute& value = op.Attr(def.name);
    // The largest number means "to the end", which ONNX leaves out.
    if (value == Attribute(std::numeric_limits<int64_t>::max())) {
      continue;
    }
    attributes[NameOf(op.schema(), def.name)] = value;
  }
  return attributes;
}

}  // namespace

std::string AlignedY(OpExport& op) {
  const int64_t axis = op.Int("axis");
  if (axis == -1) return op.In("Y");
  const int rank = op.Rank("Y");
  Ints after;
  for (int64_t i = axis + rank; i < op.Rank("X"); ++i) {
    after.push_back(i - axis);
  }
  if (after.empty()) return op.In("Y");
  return op.Append("Unsqueeze", {op.In("Y"), op.Vector(after)});
}

void ExportCounterpart(const OpDesc& desc, GraphWriter* graph) {
  const OpSchema& schema = Registry::Global().Schema(desc.type);
  const std::string& type = schema.onnx().op_type;
  const Limit limit = LimitOf(type);
  if (graph->opset() < limit.since) {
    OpExport::Unsupported("{} is an operator of ONNX from opset {} on", type,
                          limit.since);
  }
  OpExport op(desc,
              graph->opset() < limit.bfloat16_since ? Widened::kBFloat16
                                                    : Widened::kNone,
              graph);
  op.AllowOnly({schema.outputs()[0].name});
  const auto is_true = [&](const char* attribute) {
    return schema.FindAttr(attribute) != nullptr && op.Bool(attribute);
  };
  Names inputs;
  for (const ArgDef& def : schema.inputs()) {
    if (!def.attribute.empty()) {
      const bool all = def.attribute == "dim" && is_true("reduce_all");
      inputs.push_back(all ? "" : OperandOf(op, def));
    } else if (def.name == "Y" && schema.FindAttr("axis") != nullptr) {
      inputs.push_back(AlignedY(op));
    } else if (!op.Has(def.name)) {
      inputs.emplace_back();
    } else {
      const Names values = op.All(def.name);
      inputs.insert(inputs.end(), values.begin(), values.end());
    }
  }
  if (is_true("flatten")) {
    inputs[0] = op.Reshape(inputs[0], {-1});
    inputs[1] = op.Whole(0);
  }
  if (op.HasLastChannels()) inputs[0] = op.Image();
  const std::string written = TypeFor(op, type, &inputs);
  op.FinishImage(written, inputs, AttributesOf(op), schema.outputs()[0].name);
}

}  // namespace sluice::onnx
