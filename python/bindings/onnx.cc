#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sluice/framework/plan/plan.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/save_onnx.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/interrupt.h"

namespace sluice::python {

namespace {

using onnx::OnnxModel;

// Converts text of a model, which may contain any bytes.
nb::object ToPythonText(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

// The shape as ints, names, or None; None for an unknown rank.
nb::object ShapeOf(const onnx::OnnxValue& value) {
  if (!value.rank_known) return nb::none();
  nb::list shape;
  for (const onnx::OnnxDim& dim : value.shape) {
    if (dim.size >= 0) {
      shape.append(dim.size);
    } else if (!dim.symbol.empty()) {
      shape.append(ToPythonText(dim.symbol));
    } else {
      shape.append(nb::none());
    }
  }
  return nb::tuple(shape);
}

// Returns [(name, dtype, shape)].
nb::list ToList(const std::vector<onnx::OnnxValue>& values) {
  nb::list result;
  for (const onnx::OnnxValue& value : values) {
    result.append(nb::make_tuple(ToPythonText(value.name),
                                 ToPython(value.dtype), ShapeOf(value)));
  }
  return result;
}

template <typename Pairs>
nb::dict ToDict(const Pairs& pairs) {
  nb::dict result;
  for (const auto& [key, value] : pairs) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      result[ToPythonText(key)] = ToPythonText(value);
    } else {
      result[ToPythonText(key)] = value;
    }
  }
  return result;
}

nb::dict MetadataOf(const onnx::OnnxMetadata& metadata) {
  nb::dict result;
  result["ir_version"] = metadata.ir_version;
  result["model_version"] = metadata.model_version;
  result["producer_name"] = ToPythonText(metadata.producer_name);
  result["producer_version"] = ToPythonText(metadata.producer_version);
  result["domain"] = ToPythonText(metadata.domain);
  result["description"] = ToPythonText(metadata.description);
  result["graph_name"] = ToPythonText(metadata.graph_name);
  result["graph_description"] = ToPythonText(metadata.graph_description);
  result["opsets"] = ToDict(metadata.opsets);
  result["properties"] = ToDict(metadata.properties);
  return result;
}

// Converts a non-negative number.
double ToLimit(nb::handle value, const std::string& what) {
  const double number =
      PyNumber_Check(value.ptr()) != 0 ? PyFloat_AsDouble(value.ptr()) : -1.0;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  if (!(number >= 0)) RaiseArgument(what, "a number of 0 or more", value);
  return number;
}

uint64_t ToBytes(double number) {
  return static_cast<uint64_t>(std::min(number, 0x1p62));
}

// Converts a dict with the names of OnnxLimits.
onnx::OnnxLimits ToLimits(nb::handle given) {
  onnx::OnnxLimits limits;
  if (PyDict_Check(given.ptr()) == 0) {
    RaiseArgument("onnx.load: limits", "a dict", given);
  }
  for (const auto& [key, value] : nb::borrow<nb::dict>(given)) {
    const std::string name = ToText(key, "onnx.load: a name in limits");
    const double number = ToLimit(value, "onnx.load: limits: " + name);
    if (name == "memory_bytes") {
      limits.memory_bytes = ToBytes(number);
    } else if (name == "memory_bytes_per_file_byte") {
      limits.memory_bytes_per_file_byte = ToBytes(number);
    } else if (name == "folded_operations") {
      limits.folded_operations = number;
    } else if (name == "folded_operations_per_file_byte") {
      limits.folded_operations_per_file_byte = number;
    } else {
      RaiseArgument("onnx.load: a name in limits",
                    "memory_bytes or folded_operations, perhaps with "
                    "_per_file_byte",
                    key);
    }
  }
  return limits;
}

// Returns the bytes of the model. With `is_path`, writes them to the file.
nb::object Save(nb::handle program_object,
                nb::handle scope_object,
                nb::handle path,
                bool is_path,
                const std::vector<std::string>& outputs,
                const std::vector<std::string>& inputs,
                const std::map<std::string, std::vector<std::string>>& sizes,
                IntArg opset,
                bool external_data,
                const Plan* plan,
                TextArg name,
                TextArg description,
                nb::handle properties) {
  const auto& program = ToProgram(program_object, "onnx.save");
  const auto& scope = ToScope(scope_object, "onnx.save");
  onnx::OnnxSaveOptions options;
  options.outputs = outputs;
  options.inputs = inputs;
  options.size_names = sizes;
  options.opset = ToInt(opset, "onnx.save: opset");
  options.external_data = external_data;
  options.plan = plan;
  options.name = ToText(name, "onnx.save: name");
  options.description = ToText(description, "onnx.save: description");
  for (const nb::handle property : nb::borrow<nb::list>(properties)) {
    options.properties.emplace_back(
        ToText(property[0], "onnx.save: a key of properties"),
        ToText(property[1], "onnx.save: a value of properties"));
  }
  const std::string file = is_path ? ToPath(path) : "";
  const std::string bytes = RunInterruptibly([&]() -> std::string {
    if (!is_path) return onnx::SerializeOnnx(program, scope, options);
    onnx::SaveOnnx(program, scope, file, options);
    return "";
  });
  if (is_path) return nb::none();
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void BindOnnx(nb::module_& m) {
  m.def("_save_onnx", &Save, nb::arg("program").none(), nb::arg("scope").none(),
        nb::arg("path").none(), nb::arg("is_path"), nb::arg("outputs"),
        nb::arg("inputs"), nb::arg("sizes"), nb::arg("opset").none(),
        nb::arg("external_data"), nb::arg("plan").none(),
        nb::arg("name").none(), nb::arg("description").none(),
        nb::arg("properties"));
  // Returns (inputs, outputs, metadata, names of the parameters). `source` is a
  // path, or with `is_bytes` the model. Reads all before changes.
  m.def(
      "_load_onnx",
      [](Program& program, Scope& scope, nb::handle source, bool is_bytes,
         nb::handle folder, nb::handle name, nb::handle limits) {
        onnx::OnnxOptions options;
        if (!limits.is_none()) options.limits = ToLimits(limits);
        if (!folder.is_none()) options.folder = ToPath(folder);
        if (!name.is_none()) options.name = ToText(name, "onnx.load: name");
        const std::string path = is_bytes ? "" : ToPath(source);
        std::string_view bytes;
        if (is_bytes) {
          const auto held = nb::borrow<nb::bytes>(source);
          bytes = {static_cast<const char*>(held.data()), held.size()};
        }
        OnnxModel model = RunInterruptibly([&] {
          OnnxModel loaded = is_bytes ? onnx::ParseOnnx(bytes, options)
                                      : onnx::LoadOnnx(path, options);
          loaded.PutParameters(scope);
          return loaded;
        });
        program = std::move(model.program);
        nb::list parameters;
        for (const auto& [parameter, value] : model.parameters) {
          parameters.append(ToPythonText(parameter));
        }
        return nb::make_tuple(ToList(model.inputs), ToList(model.outputs),
                              MetadataOf(model.metadata), parameters);
      },
      nb::arg("program"), nb::arg("scope"), nb::arg("source"),
      nb::arg("is_bytes"), nb::arg("folder").none(), nb::arg("name").none(),
      nb::arg("limits").none());
}

}  // namespace sluice::python
