#include "sluice/operators/optimizer/optimizer_row.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sparse_rows.h"

// The schemas of the ops that are rows of the table of optimizers.
namespace sluice {
namespace {

// Returns the shape of the parameter, to which Grad and Rows fit.
ShapeHandle ParamShape(const InferShapeContext& context, bool takes_rows) {
  const ShapeHandle param = context.input("Param");
  if (!takes_rows || !context.HasInput("Rows")) {
    return context.Merge(param, context.input("Grad"));
  }
  SparseRowsOf(context, "Grad", "Param");
  return param;
}

// The parameter and the states have one shape; LearningRate and powers are [1].
void OptimizerShape(InferShapeContext& context) {
  const OptimizerRow& row = *FindOptimizerRow(context.op());
  const OptimizerInfo& info = row.info;
  for (const OptimizerSetting& setting : info.settings) {
    if (setting.name == nullptr || !setting.below) continue;
    const auto value = context.Attr<double>(setting.name);
    context.Require(value >= 0 && value < *setting.below, "optimizer.setting",
                    "attribute {} must be at least 0 and less than {}, got {}",
                    setting.name, *setting.below, value);
  }
  ShapeHandle param = ParamShape(context, row.scaled == nullptr);
  for (const OptimizerState& state : info.states) {
    if (state.name == nullptr) continue;
    param = context.Merge(param, context.input(state.name));
  }
  context.Merge(context.input("LearningRate"), InferShapeContext::Vector(1));
  if (context.HasInput("SkipUpdate")) {
    context.Merge(context.input("SkipUpdate"), InferShapeContext::Vector(1));
  }
  context.SetOutput("ParamOut", param);
  for (const OptimizerState& state : info.states) {
    if (state.name == nullptr) continue;
    context.SetOutput(std::string(state.name) + "Out", param);
  }
  for (const OptimizerPower& power : info.powers) {
    if (power.name == nullptr) continue;
    context.Merge(context.input(power.name), InferShapeContext::Vector(1));
    context.SetOutput(std::string(power.name) + "Out", DDim({1}));
  }
}

void StateArguments(const char* name,
                    const char* dtype,
                    const char* doc,
                    OpSchema& op) {
  const std::string out = std::string(name) + "Out";
  op.Input(name, dtype, doc);
  op.Output(out, dtype, std::string("The updated ") + name + ".");
  op.Update(out, name);
}

void SettingAttribute(const OptimizerSetting& setting, OpSchema& op) {
  if (setting.is_bool) {
    op.Attr<bool>(setting.name, setting.doc)
        .Default(setting.default_value.value_or(0) != 0);
  } else if (setting.choice != nullptr) {
    op.Attr<std::string>(setting.name, setting.doc)
        .Default(std::string())
        .OneOf({"", setting.choice});
  } else {
    AttrDef& number = op.Attr<double>(setting.name, setting.doc);
    if (setting.default_value) number.Default(*setting.default_value);
    if (setting.at_least) number.AtLeast(*setting.at_least);
  }
}

// Only a formula without norms of the whole parameter can be applied to some
// of its rows.
void RowsArgument(const OptimizerInfo& info, OpSchema& op) {
  op.Input("Rows", "int64",
           "[N]: the rows of Param to which the rows of Grad [N, ...] are "
           "added, -1 for none. Others keep their parameters and states.",
           {.optional = true});
  op.UpdateRows("ParamOut", "Param", "Rows");
  for (const OptimizerState& state : info.states) {
    if (state.name == nullptr) continue;
    op.UpdateRows(std::string(state.name) + "Out", state.name, "Rows");
  }
}

void OptimizerSchema(const OptimizerRow& row, OpSchema& op) {
  const OptimizerInfo& info = row.info;
  op.Doc(info.doc);
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Param", "T", "The parameter, of any shape.");
  op.Input("Grad", "T", "Its gradient, in the same shape.");
  op.Output("ParamOut", "T", "The updated parameter.");
  op.Update("ParamOut", "Param");
  for (const OptimizerState& state : info.states) {
    if (state.name != nullptr) StateArguments(state.name, "T", state.doc, op);
  }
  // In float64, 1 - power keeps its digits for factors near 1.
  const bool has_powers = info.power_count() > 0;
  if (has_powers) op.TypeVar("P", {DType::kFloat32, DType::kFloat64});
  for (const OptimizerPower& power : info.powers) {
    if (power.name != nullptr) StateArguments(power.name, "P", power.doc, op);
  }
  op.Input("LearningRate", "T", "[1]: the step size.", {.host = true});
  op.Input("SkipUpdate", "bool",
           "[1]: whether this step changes nothing, for gradients that are "
           "still being added up or have overflowed.",
           {.optional = true, .host = true});
  if (row.scaled == nullptr) RowsArgument(info, op);
  for (const OptimizerSetting& setting : info.settings) {
    if (setting.name != nullptr) SettingAttribute(setting, op);
  }
  op.InferShape(OptimizerShape);
}

void AddOptimizers(Registry& registry) {
  for (const OptimizerRow& row : OptimizerRows()) {
    registry.AddOperator(row.info.name,
                         [&](OpSchema& op) { OptimizerSchema(row, op); });
  }
}

}  // namespace

REGISTER_TABLE(optimizers, AddOptimizers);

}  // namespace sluice
