#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"
#include "sluice/python/bindings/bindings.h"

// Conversions of arguments to texts, numbers or objects of Sluice. Bound
// functions accept any object and convert it here, so that errors name the
// argument. The type of a parameter says how (Given). All functions need the
// GIL.
namespace sluice::python {

namespace nb = nanobind;

// repr(value) on one line, like Shown, with its type.
std::string Shown(nb::handle value);

// Raises InvalidArgument "WHAT: expected EXPECTED, got VALUE (TYPE)".
[[noreturn]] void RaiseArgument(std::string_view what,
                                std::string_view expected,
                                nb::handle value);

// Converts a str to UTF-8. Raises InvalidArgument, also for lone surrogates.
SLUICE_API std::string ToText(nb::handle value, std::string_view what);

// Converts an iterable of texts.
std::vector<std::string> ToNames(nb::handle names, std::string_view what);

// Converts anything with __index__ except a bool, including NumPy's integers.
// Raises InvalidArgument for other types, or beyond 32 bits.
int ToInt(nb::handle value, std::string_view what);

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

// A literal as a template argument.
template <size_t kSize>
struct Literal {
  // NOLINTNEXTLINE(google-explicit-constructor): Given<int, "count">
  constexpr Literal(const char (&literal)[kSize]) {
    std::copy_n(literal, kSize, text);
  }
  char text[kSize] = {};
};

// What ToPath returns.
struct Path : std::string {};

// A number or a reference.
template <typename T>
struct Held {
  // NOLINTNEXTLINE(google-explicit-constructor): it is passed on as a T
  operator T() const { return value; }
  T value;
};

// A parameter of a bound function: any object of Python, converted before the
// function runs, in the order of the parameters. It is a T, or passed on as
// one. kWhat names the argument in errors; for a Program& or Scope& it is the
// function. Signatures show kShown.
template <typename T, Literal kWhat = "", Literal kShown = "object">
struct Given : std::conditional_t<std::is_class_v<T>, T, Held<T>> {
  static T Convert(nb::handle given) {
    if constexpr (std::is_same_v<T, std::string>) {
      return ToText(given, kWhat.text);
    } else if constexpr (std::is_same_v<T, int>) {
      return ToInt(given, kWhat.text);
    } else if constexpr (std::is_same_v<T, Path>) {
      return {ToPath(given)};
    } else if constexpr (std::is_same_v<T, Program&>) {
      return ToProgram(given, kWhat.text);
    } else if constexpr (std::is_same_v<T, Scope&>) {
      return ToScope(given, kWhat.text);
    } else if constexpr (std::is_same_v<T, PlaceKey>) {
      return ToPlace(given);
    } else {
      static_assert(std::is_same_v<T, SourceLocation>);
      return ToLocation(given);
    }
  }
};

// Those whose signatures show `str` and `int`.
template <Literal kWhat>
using GivenText = Given<std::string, kWhat, "str">;
template <Literal kWhat>
using GivenInt = Given<int, kWhat, "int">;

}  // namespace sluice::python

namespace nanobind::detail {

template <typename T,
          sluice::python::Literal kWhat,
          sluice::python::Literal kShown>
struct has_arg_defaults<sluice::python::Given<T, kWhat, kShown>>
    : std::true_type {};

// Converting may raise, which nanobind translates for parameters, but not for
// elements of lists.
template <typename T,
          sluice::python::Literal kWhat,
          sluice::python::Literal kShown>
struct type_caster<sluice::python::Given<T, kWhat, kShown>> {
  using Value = sluice::python::Given<T, kWhat, kShown>;
  // NOLINTNEXTLINE(readability-identifier-naming): nanobind reads it
  static constexpr auto Name = const_name(kShown.text);
  template <typename>
  using Cast = Value;

  bool from_python(handle source, uint32_t, cleanup_list*) {
    value.emplace(Value{{Value::Convert(source)}});
    return true;
  }
  explicit operator Value() { return std::move(*value); }

  std::optional<Value> value;
};

}  // namespace nanobind::detail
