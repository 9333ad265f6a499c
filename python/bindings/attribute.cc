#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

namespace {

bool IsInteger(nb::handle value) {
  return PyIndex_Check(value.ptr()) != 0 && !nb::isinstance<nb::bool_>(value);
}

// NumPy's integers are accepted like Python's.
int64_t ToInt(nb::handle value) {
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  return nb::cast<int64_t>(index);
}

double ToDouble(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

bool IsBool(nb::handle value) {
  return nb::isinstance<nb::bool_>(value) || TypeName(value) == "bool" ||
         TypeName(value) == "bool_";
}

Attribute ListAttribute(nb::handle list) {
  bool integers = true;
  bool strings = true;
  for (nb::handle element : list) {
    integers = integers && IsInteger(element);
    strings = strings && nb::isinstance<nb::str>(element);
  }
  if (nb::len(list) == 0) return std::vector<int64_t>();
  if (strings) return nb::cast<std::vector<std::string>>(list);
  if (!integers) {
    std::vector<double> values;
    for (nb::handle element : list) {
      values.push_back(ToDouble(element));
    }
    return values;
  }
  std::vector<int64_t> values;
  for (nb::handle element : list) {
    values.push_back(ToInt(element));
  }
  return values;
}

Attribute PlainAttribute(nb::handle value) {
  if (IsBool(value)) return nb::cast<bool>(nb::bool_(value));
  if (IsInteger(value)) return ToInt(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::hasattr(value, "is_floating") || nb::hasattr(value, "itemsize")) {
    if (nb::hasattr(value, "name")) return ToDType(value);
  }
  if (nb::hasattr(value, "__len__")) return ListAttribute(value);
  return ToDouble(value);
}

struct PythonValue {
  nb::object operator()(DType value) const { return ToPython(value); }
  template <typename T>
  nb::object operator()(const T& value) const {
    return nb::cast(value);
  }
};

}  // namespace

nb::object ToPython(const Attribute& value) {
  return std::visit(PythonValue(), value);
}

Attribute ToAttribute(nb::handle value,
                      const std::string& op,
                      const std::string& name,
                      const AttrDef* def) {
  if (def != nullptr && def->type == AttrType::kDType) {
    return ToDType(value, Format("{}: attribute {}", op, name));
  }
  try {
    const bool lone = def != nullptr && IsInteger(value);
    if (lone && def->type == AttrType::kInts) {
      return std::vector<int64_t>{ToInt(value)};
    }
    return PlainAttribute(value);
  } catch (const std::exception&) {  // also if a cast does not fit
    const std::string expected = def == nullptr
                                     ? "a number, text or a list of them"
                                     : std::string(ToString(def->type));
    Raise(ErrorCode::kInvalidArgument, "python.attribute",
          "{}: attribute {} must be {}, got {}", op, name, expected,
          Shown(value));
  }
}

AttributeMap ToAttributes(const nb::dict& attributes, const std::string& op) {
  const OpSchema* schema = Registry::Global().FindSchema(op);
  AttributeMap result;
  for (auto [key, value] : attributes) {
    if (value.is_none()) continue;  // treated as omitted
    const std::string name = ToText(key, op + ": the name of an attribute");
    result[name] = ToAttribute(
        value, op, name, schema == nullptr ? nullptr : schema->FindAttr(name));
  }
  return result;
}

nb::object ToPython(const DDim& dims) {
  if (!dims.rank_known()) return nb::none();
  nb::list sizes;
  for (const int64_t size : dims) {
    sizes.append(size == kUnknownDim ? nb::object(nb::none())
                                     : nb::object(nb::int_(size)));
  }
  return nb::tuple(sizes);
}

DDim ToDDim(nb::handle sizes, std::string_view what) try {
  std::vector<int64_t> result;
  try {
    for (nb::handle size : sizes) {
      result.push_back(size.is_none() ? kUnknownDim : ToInt(size));
    }
  } catch (const std::exception&) {
    Raise(ErrorCode::kInvalidArgument, "python.shape",
          "expected a shape such as [None, 10], got {}", Shown(sizes));
  }
  return DDim(result);
} catch (const Error& error) {
  if (what.empty()) throw;
  throw Error(error.code(), error.check_id(),
              Format("{}: {}", what, error.what()));
}

}  // namespace sluice::python
