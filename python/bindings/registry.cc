#include "sluice/framework/op/registry.h"

#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/kernel_name.h"
#include "sluice/framework/op/plugin_kernels.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/plugin/plugin_loader.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/hints.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/registry.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

nb::dict DescribeArgument(const ArgDef& def) {
  return DictOf({
      {"name", def.name},
      {"dtype", def.dtype},
      {"doc", def.doc},
      {"optional", def.traits.optional},
      {"variadic", def.traits.variadic},
      {"updates", def.updates},
      {"attribute", def.attribute},
  });
}

nb::dict DescribeAttribute(const AttrDef& def) {
  return DictOf({
      {"name", def.name},
      {"type", ToString(def.type)},
      {"doc", def.doc},
      {"required", !def.default_value.has_value()},
      {"default", def.default_value},
      {"choices", def.choices},
      {"minimum", def.minimum},
      {"maximum", def.maximum},
  });
}

nb::dict DescribeSchema(const OpSchema& schema) {
  nb::dict type_vars;
  for (const TypeVarDef& def : schema.type_vars()) {
    type_vars[def.name.c_str()] =
        ToList(def.allowed, [](DType dtype) { return ToString(dtype); });
  }
  return DictOf({
      {"name", schema.name()},
      {"doc", schema.doc()},
      {"inputs", ToList(schema.inputs(), DescribeArgument)},
      {"outputs", ToList(schema.outputs(), DescribeArgument)},
      {"attributes", ToList(schema.attributes(), DescribeAttribute)},
      {"type_vars", type_vars},
      {"differentiable",
       schema.gradient_fn() != nullptr || schema.holds_blocks()},
      {"internal", schema.internal()},
      {"holds_blocks", schema.holds_blocks()},
      {"elementwise", schema.elementwise()},
      {"sizes", schema.sizes()},
      {"family", schema.family()},
      {"short_name", schema.short_name()},
      {"onnx", schema.onnx().op_type},
      {"torch", schema.torch()},
  });
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

// `inputs` are [(argument, array)].
nb::dict RunOp(const std::string& op,
               const nb::list& inputs,
               const nb::dict& attributes,
               nb::handle place,
               nb::handle hint,
               nb::handle outputs) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (nb::handle input : inputs) {
    tensors.emplace_back(ToText(input[0], op + ": the name of an argument"),
                         ImportArray(input[1]));
  }
  const AttributeMap values = ToAttributes(attributes, op);
  const RunOpOptions options{ToPlace(place), ToText(hint, op + ": hint"),
                             ToNames(outputs, op + ": the name of an output")};
  const ActiveHints hints;
  return ToDict(
      WithoutGil([&] { return sluice::RunOp(op, tensors, values, options); }),
      ExportArray);
}

nb::list LoadKernelLibrary(const Given<Path>& path, bool replace) {
  const auto kernels = WithoutGil([&] {
    return sluice::LoadKernelLibrary(path, {.replace = replace}).kernels;
  });
  return ToList(kernels,
                [](const KernelDef* kernel) { return ToPython(*kernel); });
}

}  // namespace

nb::dict ToPython(const KernelDef& kernel) {
  return DictOf({
      {"op", kernel.op},
      {"place", ToString(kernel.key.place)},
      {"dtype", ToString(kernel.key.dtype)},
      {"library", kernel.key.library},
      {"variant", kernel.variant},
  });
}

void BindRegistry(nb::module_& m) {
  m.def("_schema", [](const Given<std::string, "the type of an op">& op) {
    return DescribeSchema(Registry::Global().Schema(op));
  });
  // The parts of a kernel's name in records; none for another text.
  m.def("_kernel_parts", [](const std::string& name) {
    const auto found = PartsOfKernelName(name);
    if (!found) return nb::dict();
    return DictOf({
        {"op", found->op},
        {"variant", found->variant},
        {"place", found->place},
        {"dtype", found->dtype},
        {"library", found->library},
    });
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
  m.def("_kernels", &Kernels);
  m.def("_run_op", &RunOp);
  m.def("_load_kernel_library", &LoadKernelLibrary);
  m.def(
      "load_device_plugin",
      [](const Given<Path, "", "str">& path) { LoadDevicePlugin(path); },
      "path"_a,
      "Adds the devices and kernels of a plug-in (libsluice_<type>.so).");
}

}  // namespace sluice::python
