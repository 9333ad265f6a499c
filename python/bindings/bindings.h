#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/place_key.h"

// The extension sluice._core: conversions. One Bind function a file, and
// the conversions that several files share. All of it is called with the GIL.
namespace sluice::python {

namespace nb = nanobind;

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
void BindTuning(nb::module_& m);
void BindBisect(nb::module_& m);
void BindPrediction(nb::module_& m);
void BindDistributed(nb::module_& m);
void BindExchanges(nb::module_& m);
void BindTimelines(nb::module_& m);
void BindBuild(nb::module_& m);

// The one Python object of each dtype.
nb::object ToPython(platform::DType dtype);
// A DType, its name, or anything that numpy.dtype takes. Raises
// InvalidArgument, beginning with `what` unless that is empty.
platform::DType ToDType(nb::handle value, std::string_view what = "");

nb::object ToPython(platform::PlaceKey place);
// A place, or text such as "cuda:0".
platform::PlaceKey ToPlace(nb::handle value);

// Sizes as a tuple, None where one is unknown; None for an unknown rank.
nb::object ToPython(const framework::DDim& dims);
// A sequence of sizes; None and -1 stand for unknown ones. Raises as ToDType.
framework::DDim ToDDim(nb::handle sizes, std::string_view what = "");

nb::object ToPython(const framework::Attribute& value);
// `value` as the type of `def`, or as it comes for a null `def`. Raises
// InvalidArgument, naming `op` and the attribute.
framework::Attribute ToAttribute(nb::handle value,
                                 const std::string& op,
                                 const std::string& name,
                                 const framework::AttrDef* def);
framework::AttributeMap ToAttributes(const nb::dict& attributes,
                                     const std::string& op);

// A tensor that shares the memory of `array` (DLPack or a buffer) and keeps it
// alive. Raises InvalidArgument for what is not dense and row-major.
framework::Tensor ImportArray(nb::handle array);
// A NumPy array that looks into `tensor` and keeps it alive.
nb::object ExportArray(const framework::Tensor& tensor);
// The same for a result of a run, on the host: small ones are copied, which is
// faster and lets go of the tensor.
nb::object FetchedArray(const framework::Tensor& tensor);

std::string TypeName(nb::handle value);

// Whether a class of sluice/errors.py was raised in Python.
bool IsSluiceError(const nb::python_error& error);

// What a function called `what` was passed. Raise InvalidArgument for anything
// else than a sluice.Program or a sluice.Scope.
framework::Program& ToProgram(nb::handle value, std::string_view what);
framework::Scope& ToScope(nb::handle value, std::string_view what);

}  // namespace sluice::python
