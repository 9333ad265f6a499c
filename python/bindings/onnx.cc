#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/text_table.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/save_onnx.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/results.h"

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

// Returns (name, dtype, shape, denotations).
nb::tuple DescribeValue(const onnx::OnnxValue& value) {
  nb::dict denotations;
  for (size_t axis = 0; axis < value.shape.size(); ++axis) {
    const std::string& text = value.shape[axis].denotation;
    if (!text.empty()) denotations[nb::int_(axis)] = ToPythonText(text);
  }
  return nb::make_tuple(ToPythonText(value.name), value.dtype, ShapeOf(value),
                        denotations);
}

template <typename Pairs>
nb::dict TextsOf(const Pairs& pairs) {
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
  return DictOf({
      {"ir_version", metadata.ir_version},
      {"model_version", metadata.model_version},
      {"producer_name", ToPythonText(metadata.producer_name)},
      {"producer_version", ToPythonText(metadata.producer_version)},
      {"domain", ToPythonText(metadata.domain)},
      {"description", ToPythonText(metadata.description)},
      {"graph_name", ToPythonText(metadata.graph_name)},
      {"graph_description", ToPythonText(metadata.graph_description)},
      {"opsets", TextsOf(metadata.opsets)},
      {"properties", TextsOf(metadata.properties)},
  });
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
nb::object Save(Given<Program&, "onnx.save"> program,
                Given<Scope&, "onnx.save"> scope,
                nb::handle path,
                bool is_path,
                const std::vector<std::string>& outputs,
                const std::vector<std::string>& inputs,
                const std::map<std::string, std::vector<std::string>>& sizes,
                GivenInt<"onnx.save: opset"> opset,
                bool external_data,
                nb::handle plan,
                const GivenText<"onnx.save: name">& name,
                const GivenText<"onnx.save: description">& description,
                nb::handle properties) {
  onnx::OnnxSaveOptions options;
  options.outputs = outputs;
  options.inputs = inputs;
  options.size_names = sizes;
  options.opset = opset;
  options.external_data = external_data;
  options.plan = ToObject<Plan>(plan);  // null for None
  options.name = name;
  options.description = description;
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

nb::object TextOf(const TextTable& table, int64_t number) {
  const std::string* text = table.Find(number);
  SLUICE_ENFORCE(text != nullptr, ErrorCode::kOutOfRange, "onnx.fetched_text",
                 "an output of strings has the number {}; its table has {}",
                 number, table.size());
  return ToPythonText(*text);
}

void BindTexts(nb::module_& m) {
  using Table = std::shared_ptr<TextTable>;
  nb::class_<TextTable>(m, "_TextTable")
      .def_static("make",
                  [](nb::handle below) {
                    return TextTable::Make(
                        below.is_none() ? nullptr : nb::cast<Table>(below));
                  })
      .def("numbers",
           [](TextTable& table, const nb::list& texts,
              GivenText<"TextTable: what"> what) {
             return ToList(texts, [&](nb::handle text) {
               return table.NumberOf(ToText(text, what));
             });
           })
      .def("texts",
           [](const TextTable& table, const nb::list& numbers) {
             return ToList(numbers, [&](nb::handle number) {
               return TextOf(table, nb::cast<int64_t>(number));
             });
           })
      .def_prop_ro("handle", &TextTable::handle)
      .def("__repr__", [](const TextTable& table) {
        return Format("<table of {} strings>", table.size());
      });
}

// The names of sequences by those of their tensors.
nb::dict SequencesOf(const std::vector<onnx::OnnxValue>& outputs) {
  nb::dict names;
  for (const onnx::OnnxValue& value : outputs) {
    if (value.sequence.empty()) continue;
    names[ToPythonText(value.name)] = ToPythonText(value.sequence);
  }
  return names;
}

nb::dict MapKeysOf(const OnnxModel& model) {
  nb::dict map_keys;
  for (const onnx::OnnxValue& value : model.outputs) {
    if (value.map_keys.empty()) continue;
    map_keys[ToPythonText(value.name)] = value.map_keys;
  }
  return map_keys;
}

}  // namespace

void BindOnnx(nb::module_& m) {
  BindTexts(m);
  m.def("_save_onnx", &Save);
  // Returns (inputs, outputs, metadata, names of the parameters, keys of maps
  // by output, texts, names of inputs and outputs of texts, names of
  // initialisers that were given, the input of the table of texts, sequences by
  // output, names of initialisers that may be fed). `source` is a path, or with
  // `is_bytes` the model. Reads all before changes.
  m.def("_load_onnx",
        [](Program& program, Scope& scope, nb::handle source, bool is_bytes,
           nb::handle folder, nb::handle name, nb::handle limits,
           const std::map<std::string, int64_t>& sequence_lengths,
           const std::vector<std::string>& absent_inputs,
           const nb::dict& initialisers, const std::vector<std::string>& fed) {
          onnx::OnnxOptions options;
          options.fed_initialisers = {fed.begin(), fed.end()};
          options.sequence_lengths = sequence_lengths;
          options.absent_inputs = {absent_inputs.begin(), absent_inputs.end()};
          for (const auto& [key, value] : initialisers) {
            options.initialisers.emplace_back(
                ToText(key, "onnx.load: a name of initialisers"),
                nb::cast<const Tensor&>(value));
          }
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
          nb::list of_texts;
          for (const auto* values : {&model.inputs, &model.outputs}) {
            for (const onnx::OnnxValue& value : *values) {
              if (value.of_texts) of_texts.append(ToPythonText(value.name));
            }
          }
          return nb::make_tuple(
              ToList(model.inputs, DescribeValue),
              ToList(model.outputs, DescribeValue), MetadataOf(model.metadata),
              ToList(model.parameters,
                     [](const auto& pair) { return ToPythonText(pair.first); }),
              MapKeysOf(model), ToList(model.texts, ToPythonText), of_texts,
              ToList(model.replaced, ToPythonText),
              ToPythonText(model.texts_input), SequencesOf(model.outputs),
              ToList(model.initialised_inputs, ToPythonText));
        });
}

}  // namespace sluice::python
