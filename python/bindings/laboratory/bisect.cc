#include "sluice/laboratory/bisect/bisect.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/internal_ops.h"
#include "sluice/platform/error.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/feeds.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/laboratory/laboratory.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

BisectResult Bisect(Given<Program&, "bisect"> program,
                    nb::handle feed,
                    nb::handle fetch_list,
                    const Given<std::string, "bisect: hints_a">& hints_a,
                    const Given<std::string, "bisect: hints_b">& hints_b,
                    const Given<PlaceKey>& place,
                    Given<Scope&, "bisect"> scope,
                    bool time,
                    std::optional<double> rtol,
                    std::optional<double> atol,
                    double race_seconds,
                    double budget_seconds,
                    int most_runs) {
  const FeedArrays arrays(program, feed);
  BisectOptions options;
  options.place = place;
  options.what = time ? BisectFor::kTime : BisectFor::kResults;
  options.relative_tolerance = rtol;
  options.absolute_tolerance = atol;
  options.race_seconds = race_seconds;
  options.budget_seconds = budget_seconds;
  options.most_runs = most_runs;
  const Fetches fetches = ToFetches(program, fetch_list);
  return RunInterruptibly([&] {
    return sluice::Bisect(program, arrays.feeds(), fetches, hints_a, hints_b,
                          options, &scope.value);
  });
}

nb::list ValuesOf(const ProgramPart& part) {
  return ToList(part.values, [](const auto& value) {
    const auto& [var, channels_last] = value;
    return nb::make_tuple(var, channels_last);
  });
}

// The allowed absolute error at the element with the largest difference.
double AllowedError(const BisectFinding& self) {
  const ValueDifference& difference = self.difference;
  if (!std::isfinite(difference.over_bound) || difference.over_bound <= 0) {
    return 0;
  }
  return difference.absolute / difference.over_bound;
}

std::vector<std::string> KernelLibraryPaths() {
  std::vector<std::string> paths;
  for (const auto* library : LoadedKernelLibraries()) {
    paths.push_back(library->path);
  }
  return paths;
}

// Loads libraries whose passes use ops of their own.
void LoadOpsOfLibraries() {
  const Registry& registry = Registry::Global();
  for (const std::string& op : registry.OpNames()) {
    LoadLibraries(op, {}, registry);
  }
}

void BindParts(nb::module_& m) {
  nb::class_<ProgramPart>(m, "ProgramPart",
                          "A part of a program with what it needs to run by "
                          "itself.")
      .def_prop_ro(
          "program", [](ProgramPart& self) -> Program& { return self.program; },
          nb::rv_policy::reference_internal)
      .def_prop_ro("feeds",
                   [](const ProgramPart& self) {
                     return ToDict(self.feeds, ExportArray);
                   })
      .def_prop_ro("parameters",
                   [](const ProgramPart& self) {
                     return ToDict(self.parameters, ExportArray);
                   })
      .def_ro("fetches", &ProgramPart::fetches)
      .def_prop_ro("values", &ValuesOf,
                   "By fetch: the variable of the whole program, and whether "
                   "its axes are [N, H, W, C] here.");
}

}  // namespace

void BindBisect(nb::module_& m) {
  BindParts(m);
  nb::class_<BisectFinding>(m, "BisectFinding",
                            "Ops whose kernels make a difference.")
      .def_ro("ops", &BisectFinding::ops)
      .def_ro("kernels_a", &BisectFinding::kernels_a)
      .def_ro("kernels_b", &BisectFinding::kernels_b)
      .def_ro("together", &BisectFinding::together,
              "Several ops, of which none differs alone.")
      .def_ro("value", &BisectFinding::value, "The variable that differs.")
      .def_ro("message", &BisectFinding::message)
      .def_prop_ro(
          "max_absolute_error",
          [](const BisectFinding& self) { return self.difference.absolute; })
      .def_prop_ro(
          "max_relative_error",
          [](const BisectFinding& self) { return self.difference.relative; })
      .def_prop_ro("allowed_error", &AllowedError)
      .def_ro("time_a", &BisectFinding::time_a)
      .def_ro("time_b", &BisectFinding::time_b)
      .def_prop_ro(
          "b_over_a",
          [](const BisectFinding& self) { return ToTuple(self.b_over_a); })
      .def_ro("a", &BisectFinding::a)
      .def_ro("b", &BisectFinding::b);
  nb::class_<BisectResult>(m, "BisectResult",
                           "What bisect() found; print it for sentences.")
      .def_ro("findings", &BisectResult::findings)
      .def_ro("ops", &BisectResult::ops)
      .def_ro("suspects", &BisectResult::suspects,
              "Parts of the program with other kernels under B.")
      .def_ro("runs", &BisectResult::runs)
      .def_ro("complete", &BisectResult::complete)
      .def_ro("time_a", &BisectResult::time_a)
      .def_ro("time_b", &BisectResult::time_b)
      .def("__bool__",
           [](const BisectResult& self) { return !self.findings.empty(); })
      .def("__str__", [](const BisectResult& self) { return ToString(self); });
  nb::class_<InternalOpsGuard>(
      m, "_InternalOps",
      "While one lives, this thread may append ops that passes make.")
      .def("__init__", [](InternalOpsGuard* self) {
        LoadOpsOfLibraries();
        new (self) InternalOpsGuard();
      });
  m.def("_kernel_library_paths", &KernelLibraryPaths);
  m.def("_bisect", &Bisect);
}

}  // namespace sluice::python
