#include "benchmarks/cuda/list_rows.h"

#include <variant>

#include "benchmarks/cuda/device_op.h"
#include <nlohmann/json.hpp>

namespace sluice::bench {

using nlohmann::ordered_json;

namespace {

ordered_json ToJson(const DDim& dims) {
  return std::vector<int64_t>(dims.begin(), dims.end());
}

ordered_json ToJson(const Fill& fill) {
  return {{"kind", ToString(fill.kind)},
          {"low", fill.low},
          {"high", fill.high},
          {"seed", fill.seed}};
}

ordered_json ToJson(const AttributeMap& attributes) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : attributes) {
    std::visit(
        [&json, &key = name](const auto& each) {
          using Value = std::decay_t<decltype(each)>;
          if constexpr (std::is_same_v<Value, DType>) {
            json[key] = std::string(sluice::ToString(each));
          } else {
            json[key] = each;
          }
        },
        static_cast<const Attribute::Variant&>(value));
  }
  return json;
}

ordered_json Variable(const OneOp& one,
                      const std::string& argument,
                      const std::string& name) {
  const VarDesc& var = one.program.FindVar(name);
  return {{"argument", argument},
          {"name", name},
          {"dtype", std::string(sluice::ToString(var.dtype))},
          {"dims", ToJson(var.dims)}};
}

ordered_json ToJson(const OpRow& row) {
  const OneOp forward = DescribeForward(row.forward);
  const OneOp measured = DescribeMeasured(row, forward);
  ordered_json json = {
      {"id", row.id},     {"op", row.forward.op},
      {"unit", row.unit}, {"gradient", row.gradient},
      {"work", row.work}, {"attributes", ToJson(DescOf(forward).attributes)}};
  json["inputs"] = ordered_json::array();
  for (const FilledInput& input : InputsOf(row.forward)) {
    ordered_json variable = Variable(forward, input.argument, input.name);
    variable["fill"] = ToJson(input.fill);
    json["inputs"].push_back(std::move(variable));
  }
  json["gradient_inputs"] = ordered_json::array();
  size_t next = 0;
  for (const auto& [argument, vars] : DescOf(measured).inputs) {
    for (const std::string& name : vars) {
      const Fill fill = GradientFill(next++);
      if (row.gradient.empty() || !argument.ends_with("@GRAD")) continue;
      ordered_json variable = Variable(measured, argument, name);
      variable["fill"] = ToJson(fill);
      json["gradient_inputs"].push_back(std::move(variable));
    }
  }
  json["outputs"] = ordered_json::array();
  for (const auto& [argument, vars] : DescOf(measured).outputs) {
    for (const std::string& name : vars) {
      json["outputs"].push_back(Variable(measured, argument, name));
    }
  }
  return json;
}

}  // namespace

std::string ListRows(const Rows& rows, const std::vector<CopyRow>& copies) {
  ordered_json ops = ordered_json::array();
  for (const OpRow& row : rows.rows) {
    ops.push_back(ToJson(row));
  }
  ordered_json copied = ordered_json::array();
  for (const CopyRow& row : copies) {
    copied.push_back({{"id", row.id},
                      {"direction", NameOf(row.direction)},
                      {"pinned", row.pinned},
                      {"bytes", row.bytes}});
  }
  const ordered_json all = {
      {"ops", ops}, {"copies", copied}, {"left_out", rows.left_out}};
  return all.dump(1);
}

}  // namespace sluice::bench
