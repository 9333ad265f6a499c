#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/error.h"

// What users pass where text, a number or an object of Sluice is expected.
// Everything is taken as it comes and converted here, so that a wrong argument
// is an error of ours that names it. All of it is called with the GIL.
namespace sluice::python {

namespace nb = nanobind;

// Parameters of bound functions that read `str` and `int` in signatures.
struct TextArg {
  nb::handle value;
};
struct IntArg {
  nb::handle value;
};

// repr(value) on one line, as platform::Shown, with its type.
std::string Shown(nb::handle value);

// "WHAT: expected EXPECTED, got VALUE (TYPE)", as InvalidArgument.
[[noreturn]] void RaiseArgument(std::string_view what,
                                std::string_view expected,
                                nb::handle value);

// As UTF-8. Raises InvalidArgument for what is no str, or has a lone surrogate.
std::string ToText(nb::handle value, std::string_view what);
inline std::string ToText(TextArg text, std::string_view what) {
  return ToText(text.value, what);
}

// Anything with __index__ but a bool, NumPy's integers too. Raises
// InvalidArgument for what is none, or does not fit into 32 bits.
int ToInt(IntArg number, std::string_view what);

// str, bytes or os.PathLike, as the system's own bytes. Raises InvalidArgument
// for what is none, or has a zero byte.
std::string ToPath(nb::handle value);

// The path or file name as a str; the inverse.
nb::object FromPath(const std::string& path);

// Of (file, line).
framework::SourceLocation ToLocation(nb::handle line);

// The bound object in `value`; null for another type.
template <typename T>
T* ToObject(nb::handle value) {
  T* object = nullptr;
  return nb::try_cast(value, object, false) ? object : nullptr;
}

}  // namespace sluice::python

namespace nanobind::detail {

template <>
struct type_caster<sluice::python::TextArg> {
  NB_TYPE_CASTER(sluice::python::TextArg, const_name("str"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    value.value = source;
    return true;
  }
};

template <>
struct type_caster<sluice::python::IntArg> {
  NB_TYPE_CASTER(sluice::python::IntArg, const_name("int"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    value.value = source;
    return true;
  }
};

}  // namespace nanobind::detail
