#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

// The extension sluice._core: conversions. It has one Bind function a file, and
// conversions that several files and the extension sluice._lab share
// (SLUICE_API). All sources include this header and thereby the same casters.
// All functions need the GIL.
namespace sluice::python {

namespace nb = nanobind;
using nb::literals::operator""_a;

void BindErrors(nb::module_& m);
void BindDTypes(nb::module_& m);
void BindPlaces(nb::module_& m);
void BindTensors(nb::module_& m);
void BindPrograms(nb::module_& m);
void BindScopes(nb::module_& m);
void BindFiles(nb::module_& m);
void BindOnnx(nb::module_& m);
void BindExecutors(nb::module_& m);
void BindHints(nb::module_& m);
void BindRegistry(nb::module_& m);
void BindInspection(nb::module_& m);
void BindDistributed(nb::module_& m);
void BindExchanges(nb::module_& m);
void BindTimelines(nb::module_& m);
void BindBuild(nb::module_& m);

// Returns the only Python object of each dtype.
nb::object ToPython(DType dtype);
// Converts a DType, its name, or anything that numpy.dtype accepts. Raises
// InvalidArgument, beginning with `what` unless that is empty.
DType ToDType(nb::handle value, std::string_view what = "");

SLUICE_API nb::object ToPython(PlaceKey place);
// Converts a place, or text such as "cuda:0".
SLUICE_API PlaceKey ToPlace(nb::handle value);

// Returns a tuple of sizes, None for unknown ones; None for an unknown rank.
nb::object ToPython(const DDim& dims);
// Converts a sequence of sizes; None and -1 mean unknown. Raises like ToDType.
DDim ToDDim(nb::handle sizes, std::string_view what = "");

nb::object ToPython(const Attribute& value);
// Converts `value` to the type of `def`, or by its own type if `def` is null.
// Raises InvalidArgument, naming `op` and the attribute.
Attribute ToAttribute(nb::handle value,
                      const std::string& op,
                      const std::string& name,
                      const AttrDef* def);
AttributeMap ToAttributes(const nb::dict& attributes, const std::string& op);

// Returns a tensor that shares the memory of `array` (DLPack or a buffer) and
// keeps it alive. Raises InvalidArgument unless it is dense and row-major.
Tensor ImportArray(nb::handle array);
// Returns a NumPy array that is a view of `tensor` and keeps it alive.
SLUICE_API nb::object ExportArray(const Tensor& tensor);
// Returns a result of a run as an array on the host. Small ones are copied,
// which is faster and releases the tensor.
nb::object FetchedArray(const Tensor& tensor);

std::string TypeName(nb::handle value);

// Whether a class of sluice/errors.py was raised in Python.
bool IsSluiceError(const nb::python_error& error);

// Converts an argument of the function `what`. Raises InvalidArgument unless it
// is a sluice.Program or a sluice.Scope.
SLUICE_API Program& ToProgram(nb::handle value, std::string_view what);
SLUICE_API Scope& ToScope(nb::handle value, std::string_view what);

}  // namespace sluice::python

namespace nanobind::detail {

// Parameters that convert any object themselves get None, too, so that errors
// are ours.
template <>
struct has_arg_defaults<handle> : std::true_type {};

// Results of bound functions that ToPython converts; signatures show `object`.
template <typename T>
struct ResultCaster {
  // NOLINTNEXTLINE(readability-identifier-naming): nanobind reads it
  static constexpr auto Name = const_name("object");

  // Null with Python's error if it cannot be converted, like nanobind's own.
  static handle from_cpp(const T& value, rv_policy, cleanup_list*) noexcept {
    try {
      return sluice::python::ToPython(value).release();
    } catch (python_error& error) {
      error.restore();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return {};
  }
};

template <>
struct type_caster<sluice::DType> : ResultCaster<sluice::DType> {};
template <>
struct type_caster<sluice::DDim> : ResultCaster<sluice::DDim> {};
template <>
struct type_caster<sluice::PlaceKey> : ResultCaster<sluice::PlaceKey> {};
template <>
struct type_caster<sluice::Attribute> : ResultCaster<sluice::Attribute> {};

}  // namespace nanobind::detail
