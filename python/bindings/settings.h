#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/python/bindings/results.h"

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
  return ToDict(settings, [](const AttributeMap& attributes) {
    return nb::cast(attributes);
  });
}

// Returns [(parameter, gradient)].
inline nb::list ToPython(const std::vector<ParamGrad>& gradients) {
  return ToList(gradients, [](const ParamGrad& pair) {
    return nb::make_tuple(pair.param, pair.grad);
  });
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
