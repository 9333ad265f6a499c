#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"

// Conversions of arguments to texts, numbers or objects of Sluice. Bound
// functions accept any object and convert it here, so that errors name the
// argument. All functions need the GIL.
namespace sluice::python {

namespace nb = nanobind;

// Parameters of bound functions whose signatures show `str` and `int`.
struct TextArg {
  nb::handle value;
};
struct IntArg {
  nb::handle value;
};

// repr(value) on one line, like Shown, with its type.
std::string Shown(nb::handle value);

// Raises InvalidArgument "WHAT: expected EXPECTED, got VALUE (TYPE)".
[[noreturn]] void RaiseArgument(std::string_view what,
                                std::string_view expected,
                                nb::handle value);

// Converts a str to UTF-8. Raises InvalidArgument, also for lone surrogates.
SLUICE_API std::string ToText(nb::handle value, std::string_view what);
inline std::string ToText(TextArg text, std::string_view what) {
  return ToText(text.value, what);
}

// Converts anything with __index__ except a bool, including NumPy's integers.
// Raises InvalidArgument for other types, or beyond 32 bits.
int ToInt(IntArg number, std::string_view what);

// Converts str, bytes or os.PathLike to the system's bytes. Raises
// InvalidArgument for other types, or for a zero byte.
std::string ToPath(nb::handle value);

// Converts a path or file name to a str; the inverse of ToPath.
nb::object FromPath(const std::string& path);

// Converts (file, line).
SourceLocation ToLocation(nb::handle line);

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
