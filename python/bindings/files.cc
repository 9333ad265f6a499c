#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/checkpoint/parameters_io.h"
#include "sluice/framework/files/file.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/settings.h"

namespace sluice::python {

void BindFiles(nb::module_& m) {
  m.def("_save_program", [](Given<Program&, "save_program"> program,
                            const Given<Path>& path, const nb::dict& given) {
    const VariableSettings settings = ToSettings(given);
    RunInterruptibly([&] { SaveProgram(program, path, settings); });
  });
  m.def("_load_program", [](Program& program, const Given<Path>& path) {
    VariableSettings settings;
    program = WithoutGil([&] { return LoadProgram(path, &settings); });
    return ToPython(settings);
  });
  m.def("_save_parameters",
        [](const Given<Path>& path, Given<Program&, "save_params"> program,
           Given<Scope&, "save_params"> scope) {
          RunInterruptibly([&] { SaveParameters(path, program, scope); });
        });
  m.def("_replace_file",
        [](const Given<Path>& path, const std::vector<nb::bytes>& parts) {
          std::vector<std::string_view> views;
          views.reserve(parts.size());
          for (const nb::bytes& part : parts) {
            views.emplace_back(part.c_str(), part.size());
          }
          RunInterruptibly([&] { ReplaceFile(path, views); });
        });
  m.def("_load_parameters",
        [](const Given<Path>& path, Given<Program&, "load_params"> program,
           Given<Scope&, "load_params"> scope, bool partial) {
          LoadedParameters loaded = WithoutGil([&] {
            return LoadParameters(path, program, scope, {.partial = partial});
          });
          return std::pair(std::move(loaded.missing),
                           std::move(loaded.superfluous));
        });
}

}  // namespace sluice::python
