#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sluice/framework/checkpoint/parameters_io.h"
#include "sluice/framework/files/file.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/settings.h"

namespace sluice::python {

void BindFiles(nb::module_& m) {
  m.def("_save_program",
        [](nb::handle object, nb::handle path, const nb::dict& given) {
          const Program& program = ToProgram(object, "save_program");
          const std::string file = ToPath(path);
          const VariableSettings settings = ToSettings(given);
          RunInterruptibly([&] { SaveProgram(program, file, settings); });
        });
  m.def("_load_program", [](Program& program, nb::handle path) {
    const std::string file = ToPath(path);
    VariableSettings settings;
    {
      const nb::gil_scoped_release release;
      program = LoadProgram(file, &settings);
    }
    return ToPython(settings);
  });
  m.def("_save_parameters", [](nb::handle path, nb::handle program_object,
                               nb::handle scope_object) {
    const std::string file = ToPath(path);
    const auto& program = ToProgram(program_object, "save_params");
    const auto& scope = ToScope(scope_object, "save_params");
    RunInterruptibly([&] { SaveParameters(file, program, scope); });
  });
  m.def("_replace_file",
        [](nb::handle path, const std::vector<nb::bytes>& parts) {
          const std::string file = ToPath(path);
          std::vector<std::string_view> views;
          views.reserve(parts.size());
          for (const nb::bytes& part : parts) {
            views.emplace_back(part.c_str(), part.size());
          }
          RunInterruptibly([&] { ReplaceFile(file, views); });
        });
  m.def("_load_parameters", [](nb::handle path, nb::handle program_object,
                               nb::handle scope_object, bool partial) {
    const std::string file = ToPath(path);
    const auto& program = ToProgram(program_object, "load_params");
    auto& scope = ToScope(scope_object, "load_params");
    LoadedParameters loaded;
    {
      const nb::gil_scoped_release release;
      loaded = LoadParameters(file, program, scope, {.partial = partial});
    }
    return std::pair(std::move(loaded.missing), std::move(loaded.superfluous));
  });
}

}  // namespace sluice::python
