#include <string>

#include <nanobind/stl/string.h>

#include "sluice/framework/checkpoint/parameters_io.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

void BindFiles(nb::module_& m) {
  using framework::Program;
  using framework::Scope;
  using Release = nb::call_guard<nb::gil_scoped_release>;
  m.def("_save_program", &framework::SaveProgram, Release());
  m.def(
      "_load_program",
      [](Program& program, const std::string& path) {
        program = framework::LoadProgram(path);
      },
      Release());
  m.def("_save_parameters", &framework::SaveParameters, Release());
  m.def("_load_parameters", &framework::LoadParameters, Release());
}

}  // namespace sluice::python
