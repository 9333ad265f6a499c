#include "sluice/framework/op/registry.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/plugin_kernels.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/plugin/plugin_loader.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/hints.h"
#include "sluice/python/bindings/registry.h"

namespace sluice::python {

namespace {

nb::list DescribeArguments(const std::vector<ArgDef>& defs) {
  nb::list result;
  for (const ArgDef& def : defs) {
    nb::dict argument;
    argument["name"] = def.name;
    argument["dtype"] = def.dtype;
    argument["doc"] = def.doc;
    argument["optional"] = def.traits.optional;
    argument["variadic"] = def.traits.variadic;
    argument["updates"] = def.updates;
    argument["attribute"] = def.attribute;
    result.append(argument);
  }
  return result;
}

nb::dict DescribeSchema(const OpSchema& schema) {
  nb::list attributes;
  for (const AttrDef& def : schema.attributes()) {
    nb::dict attribute;
    attribute["name"] = def.name;
    attribute["type"] = std::string(ToString(def.type));
    attribute["doc"] = def.doc;
    attribute["required"] = !def.default_value.has_value();
    attribute["default"] =
        def.default_value ? ToPython(*def.default_value) : nb::none();
    attribute["choices"] = nb::cast(def.choices);
    attribute["minimum"] =
        def.minimum ? nb::object(nb::float_(*def.minimum)) : nb::none();
    attribute["maximum"] =
        def.maximum ? nb::object(nb::float_(*def.maximum)) : nb::none();
    attributes.append(attribute);
  }
  nb::dict type_vars;
  for (const TypeVarDef& def : schema.type_vars()) {
    nb::list allowed;
    for (const DType dtype : def.allowed) {
      allowed.append(std::string(ToString(dtype)));
    }
    type_vars[def.name.c_str()] = allowed;
  }
  nb::dict result;
  result["name"] = schema.name();
  result["doc"] = schema.doc();
  result["inputs"] = DescribeArguments(schema.inputs());
  result["outputs"] = DescribeArguments(schema.outputs());
  result["attributes"] = attributes;
  result["type_vars"] = type_vars;
  result["differentiable"] =
      schema.gradient_fn() != nullptr || schema.holds_blocks();
  result["internal"] = schema.internal();
  result["holds_blocks"] = schema.holds_blocks();
  result["elementwise"] = schema.elementwise();
  nb::dict sizes;
  for (const auto& [name, text] : schema.sizes()) {
    sizes[name.c_str()] = text;
  }
  result["sizes"] = sizes;
  result["family"] = schema.family();
  result["short_name"] = schema.short_name();
  result["onnx"] = schema.onnx().op_type;
  result["torch"] = schema.torch();
  return result;
}

nb::list Kernels(nb::handle op) {
  std::vector<std::string> ops;
  if (op.is_none()) {
    ops = Registry::Global().OpNames();
  } else {
    ops = {Registry::Global().Schema(ToText(op, "the type of an op")).name()};
  }
  LoadAllDevices();
  nb::list result;
  for (const std::string& name : ops) {
    LoadLibraries(name, {}, Registry::Global());
    for (const KernelDef* kernel : Registry::Global().Kernels(name)) {
      result.append(ToPython(*kernel));
    }
  }
  return result;
}

nb::dict RunOp(const std::string& op,
               const std::vector<std::pair<std::string, nb::object>>& inputs,
               const nb::dict& attributes,
               nb::handle place,
               const std::string& hint,
               std::vector<std::string> outputs) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  tensors.reserve(inputs.size());
  for (const auto& [name, array] : inputs) {
    tensors.emplace_back(name, ImportArray(array));
  }
  const AttributeMap values = ToAttributes(attributes, op);
  const RunOpOptions options{ToPlace(place), hint, std::move(outputs)};
  const ActiveHints hints;
  std::map<std::string, Tensor> results;
  {
    const nb::gil_scoped_release release;
    results = sluice::RunOp(op, tensors, values, options);
  }
  nb::dict arrays;
  for (const auto& [name, tensor] : results) {
    arrays[name.c_str()] = ExportArray(tensor);
  }
  return arrays;
}

nb::list LoadKernelLibrary(const std::string& path) {
  const KernelLibrary* library = nullptr;
  {
    const nb::gil_scoped_release release;
    library = &sluice::LoadKernelLibrary(path);
  }
  nb::list kernels;
  for (const KernelDef* kernel : library->kernels) {
    kernels.append(ToPython(*kernel));
  }
  return kernels;
}

}  // namespace

nb::dict ToPython(const KernelDef& kernel) {
  nb::dict entry;
  entry["op"] = kernel.op;
  entry["place"] = std::string(ToString(kernel.key.place));
  entry["dtype"] = std::string(ToString(kernel.key.dtype));
  entry["library"] = kernel.key.library;
  entry["variant"] = kernel.variant;
  return entry;
}

void BindRegistry(nb::module_& m) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace)
  m.def("_schema", [](nb::handle op) {
    return DescribeSchema(
        Registry::Global().Schema(ToText(op, "the type of an op")));
  });
  m.def("_op_names", [] { return Registry::Global().OpNames(); });
  // Names of the passes of all loaded libraries.
  m.def("_pass_names", [] {
    std::vector<std::string> names;
    for (const PassDef& pass : Registry::Global().Passes()) {
      names.push_back(pass.name);
    }
    return names;
  });
  m.def("_kernels", &Kernels, "op"_a.none());
  m.def("_run_op", [](const std::string& op, const nb::list& inputs,
                      const nb::dict& attributes, nb::handle place,
                      nb::handle hint, const nb::list& outputs) {
    std::vector<std::pair<std::string, nb::object>> arrays;
    for (nb::handle input : inputs) {
      arrays.emplace_back(ToText(input[0], op + ": the name of an argument"),
                          nb::borrow(input[1]));
    }
    std::vector<std::string> names;
    for (nb::handle output : outputs) {
      names.push_back(ToText(output, op + ": the name of an output"));
    }
    return RunOp(op, arrays, attributes, place, ToText(hint, op + ": hint"),
                 std::move(names));
  });
  m.def("_load_kernel_library",
        [](nb::handle path) { return LoadKernelLibrary(ToPath(path)); });
  m.def(
      "load_device_plugin",
      [](TextArg path) { LoadDevicePlugin(ToPath(path.value)); },
      "path"_a.none(),
      "Adds the devices and kernels of a plug-in (libsluice_<type>.so).");
}

}  // namespace sluice::python
