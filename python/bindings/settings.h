#pragma once

#include <map>
#include <string>

#include <nanobind/stl/string.h>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/python/bindings/bindings.h"

// Conversions of what Python's programs say about their variables. All
// functions need the GIL.
namespace sluice::python {

// Converts {variable: {name: value}}.
inline VariableSettings ToSettings(const nb::dict& given) {
  VariableSettings settings;
  for (auto [name, values] : given) {
    const auto variable = nb::cast<std::string>(name);
    settings[variable] =
        ToAttributes(nb::cast<nb::dict>(values), "variable " + variable);
  }
  return settings;
}

inline nb::dict ToPython(const VariableSettings& settings) {
  nb::dict result;
  for (const auto& [variable, attributes] : settings) {
    nb::dict values;
    for (const auto& [name, value] : attributes) {
      values[name.c_str()] = ToPython(value);
    }
    result[variable.c_str()] = values;
  }
  return result;
}

// Converts {variable: (type of an op, its attributes)}.
inline std::map<std::string, OpDesc> ToGradientOps(const nb::dict& given) {
  std::map<std::string, OpDesc> ops;
  for (auto [variable, op] : given) {
    OpDesc& made = ops[nb::cast<std::string>(variable)];
    made.type = nb::cast<std::string>(op[0]);
    made.attributes = ToAttributes(nb::cast<nb::dict>(op[1]), made.type);
  }
  return ops;
}

}  // namespace sluice::python
