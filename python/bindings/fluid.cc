#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sluice/fluid/program_file.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

namespace {

using namespace fluid;  // NOLINT(google-build-using-namespace)

// Text of a file, which may contain any bytes.
nb::object Text(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

std::string Bytes(nb::handle text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(
      nb::cast<nb::str>(text).ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(bytes.ptr()),
          static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

nb::list Texts(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) {
    list.append(Text(text));
  }
  return list;
}

nb::object ToObject(const AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> nb::object {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return Text(held);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return Texts(held);
        } else {
          return nb::cast(held);
        }
      },
      value);
}

nb::dict ToDict(const FileSlots& slots) {
  nb::dict result;
  for (const auto& [slot, names] : slots) {
    result[Text(slot)] = Texts(names);
  }
  return result;
}

nb::dict ToDict(const FileOp& op) {
  nb::dict result;
  result["type"] = Text(op.type);
  result["inputs"] = ToDict(op.inputs);
  result["outputs"] = ToDict(op.outputs);
  nb::dict attributes;
  for (const FileAttribute& attribute : op.attributes) {
    attributes[Text(attribute.name)] = nb::make_tuple(
        static_cast<int>(attribute.type), ToObject(attribute.value));
  }
  result["attrs"] = attributes;
  return result;
}

nb::dict ToDict(const FileVariable& variable) {
  nb::dict result;
  result["name"] = Text(variable.name);
  result["kind"] = variable.kind;
  result["dtype"] = variable.tensor.dtype;
  result["dims"] = nb::cast(variable.tensor.dims);
  result["lod_level"] = variable.lod_level;
  result["persistable"] = variable.persistable;
  return result;
}

nb::dict ToDict(const ProgramFile& program) {
  nb::list blocks;
  for (const FileBlock& block : program.blocks) {
    nb::list vars;
    for (const FileVariable& each : block.variables) {
      vars.append(ToDict(each));
    }
    nb::list ops;
    for (const FileOp& op : block.ops) {
      ops.append(ToDict(op));
    }
    nb::dict entry;
    entry["parent"] = block.parent;
    entry["vars"] = vars;
    entry["ops"] = ops;
    blocks.append(entry);
  }
  nb::dict result;
  result["version"] = program.version;
  result["blocks"] = blocks;
  return result;
}

template <typename T>
std::vector<T> ToVector(nb::handle list) {
  std::vector<T> values;
  for (nb::handle each : list) {
    values.push_back(nb::cast<T>(each));
  }
  return values;
}

std::vector<std::string> ToTexts(nb::handle list) {
  std::vector<std::string> texts;
  for (nb::handle each : list) {
    texts.push_back(Bytes(each));
  }
  return texts;
}

AttributeValue ToValue(AttributeType type, nb::handle value) {
  switch (type) {
    case AttributeType::kInt:
    case AttributeType::kBlock:
    case AttributeType::kLong:
      return nb::cast<int64_t>(value);
    case AttributeType::kFloat:
    case AttributeType::kFloat64:
      return nb::cast<double>(value);
    case AttributeType::kString:
    case AttributeType::kVariable:
      return Bytes(value);
    case AttributeType::kInts:
    case AttributeType::kBlocks:
    case AttributeType::kLongs:
      return ToVector<int64_t>(value);
    case AttributeType::kFloats:
    case AttributeType::kFloat64s:
      return ToVector<double>(value);
    case AttributeType::kStrings:
    case AttributeType::kVariables:
      return ToTexts(value);
    case AttributeType::kBool:
      return nb::cast<bool>(value);
    case AttributeType::kBools:
      return ToVector<bool>(value);
  }
  RaiseArgument("fluid: the type of an attribute", "0 to 15", value);
}

FileSlots ToSlots(nb::handle slots) {
  FileSlots result;
  for (const auto& [slot, names] : nb::cast<nb::dict>(slots)) {
    result.emplace_back(Bytes(slot), ToTexts(names));
  }
  return result;
}

FileOp ToOp(nb::handle op) {
  FileOp result{.type = Bytes(op["type"]),
                .inputs = ToSlots(op["inputs"]),
                .outputs = ToSlots(op["outputs"])};
  for (const auto& [name, given] : nb::cast<nb::dict>(op["attrs"])) {
    const auto type = static_cast<AttributeType>(nb::cast<int>(given[0]));
    result.attributes.push_back(
        {.name = Bytes(name), .type = type, .value = ToValue(type, given[1])});
  }
  return result;
}

FileVariable ToVariable(nb::handle variable) {
  return {.name = Bytes(variable["name"]),
          .kind = nb::cast<int32_t>(variable["kind"]),
          .tensor = {.dtype = nb::cast<int32_t>(variable["dtype"]),
                     .dims = ToVector<int64_t>(variable["dims"])},
          .lod_level = nb::cast<int32_t>(variable["lod_level"]),
          .persistable = nb::cast<bool>(variable["persistable"])};
}

ProgramFile ToProgramFile(const nb::dict& program) {
  ProgramFile result{.version = nb::cast<int64_t>(program["version"])};
  for (nb::handle block : program["blocks"]) {
    FileBlock made{.parent = nb::cast<int32_t>(block["parent"])};
    for (nb::handle each : block["vars"]) {
      made.variables.push_back(ToVariable(each));
    }
    for (nb::handle op : block["ops"]) {
      made.ops.push_back(ToOp(op));
    }
    result.blocks.push_back(std::move(made));
  }
  return result;
}

std::string_view View(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

nb::bytes ToBytes(const std::string& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void BindFluid(nb::module_& m) {
  m.def("_fluid_parse_program",
        [](const nb::bytes& bytes, const std::string& name) {
          return ToDict(ParseProgramFile(View(bytes), name));
        });
  m.def("_fluid_serialize_program", [](const nb::dict& program) {
    return ToBytes(SerializeProgramFile(ToProgramFile(program)));
  });
  m.def("_fluid_parse_tensor_desc",
        [](const nb::bytes& bytes, const std::string& name) {
          FileTensor tensor = ParseTensorDesc(View(bytes), name);
          return nb::make_tuple(tensor.dtype, nb::cast(tensor.dims));
        });
  m.def("_fluid_serialize_tensor_desc",
        [](int32_t dtype, std::vector<int64_t> dims) {
          return ToBytes(
              SerializeTensorDesc({.dtype = dtype, .dims = std::move(dims)}));
        });
}

}  // namespace sluice::python
