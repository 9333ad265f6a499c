#include <array>
#include <string>

#include "sluice/platform/number_format.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

namespace {

struct PyDType {
  DType value;
};

// By the number of the dtype; never freed.
std::array<PyObject*, kDTypeNumbers> g_dtypes{};

std::string Name(const PyDType& dtype) {
  return std::string(ToString(dtype.value));
}

std::string OnnxName(const PyDType& dtype) {
  std::string name(FormatOf(dtype.value).onnx);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
  }
  return name;
}

// ml_dtypes has dtypes that NumPy lacks.
nb::object NumpyDType(const PyDType& dtype) {
  nb::object numpy = nb::module_::import_("numpy");
  if (FormatOf(dtype.value).buffer == nullptr) {
    return numpy.attr("dtype")(
        nb::module_::import_("ml_dtypes").attr(Name(dtype).c_str()));
  }
  return numpy.attr("dtype")(Name(dtype));
}

bool Equal(const PyDType& dtype, nb::handle other) {
  if (nb::isinstance<PyDType>(other)) {
    return nb::cast<const PyDType&>(other).value == dtype.value;
  }
  try {
    return !other.is_none() && ToDType(other) == dtype.value;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

nb::object ToPython(DType dtype) {
  return nb::borrow(g_dtypes[static_cast<size_t>(dtype)]);
}

DType ToDType(nb::handle value, std::string_view what) try {
  if (nb::isinstance<PyDType>(value)) {
    return nb::cast<const PyDType&>(value).value;
  }
  if (nb::isinstance<nb::str>(value)) {
    return ParseDType(ToText(value, "dtype"));
  }
  try {
    if (!value.is_none()) {  // NumPy would convert it to float64
      nb::object dtype = nb::module_::import_("numpy").attr("dtype")(value);
      return ParseDType(nb::cast<std::string>(dtype.attr("name")));
    }
  } catch (const nb::python_error&) {
    // It is not a dtype of NumPy.
  }
  Raise(ErrorCode::kInvalidArgument, "python.dtype",
        "expected a dtype such as \"float32\", got {}", Shown(value));
} catch (const Error& error) {
  if (what.empty()) throw;
  throw Error(error.code(), error.check_id(),
              Format("{}: {}", what, error.what()));
}

void BindDTypes(nb::module_& m) {
  nb::class_<PyDType>(m, "DType", "Element type: sluice.float32 and so on.")
      .def(
          "__init__",
          [](PyDType* self, nb::handle value) {
            new (self) PyDType{ToDType(value)};
          },
          "dtype"_a)
      .def_prop_ro("name", &Name)
      .def_prop_ro("itemsize",
                   [](const PyDType& self) { return SizeOf(self.value); })
      .def_prop_ro("dtype", &NumpyDType,
                   "As numpy.dtype; bfloat16 and dtypes of 8 bits or less, but "
                   "int8, uint8 and bool, need the package ml_dtypes.")
      .def_prop_ro("onnx_name", &OnnxName,
                   "As in the types of onnxruntime: \"float\", \"float8e5m2\".")
      .def_prop_ro(
          "is_floating",
          [](const PyDType& self) { return FormatOf(self.value).is_float(); })
      .def("__str__", &Name)
      .def("__repr__",
           [](const PyDType& self) { return "sluice." + Name(self); })
      .def("__eq__", &Equal)
      .def("__hash__",
           [](const PyDType& self) {
             return nb::hash(nb::str(Name(self).c_str()));
           })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(self.attr("name")));
      });
  for (const DType dtype : kAllDTypes) {
    nb::object object = nb::cast(PyDType{dtype});
    m.attr(Name({dtype}).c_str()) = object;
    g_dtypes[static_cast<size_t>(dtype)] = object.release().ptr();
  }
}

}  // namespace sluice::python
