#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/what_if.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/feeds.h"
#include "sluice/python/bindings/laboratory/laboratory.h"

namespace sluice::python {

namespace {

// Faster kernels as (op, library, variant, factor).
using Faster =
    std::vector<std::tuple<std::string, std::string, std::string, double>>;

Placement PredictWhatIf(Given<Program&, "what_if"> program,
                        nb::handle feed,
                        nb::handle fetch_list,
                        Given<Scope&, "what_if"> scope,
                        const std::vector<nb::object>& devices,
                        const Faster& faster,
                        std::optional<std::pair<double, double>> link,
                        double budget) {
  const FeedArrays arrays(program, feed);
  const Fetches fetches = ToFetches(program, fetch_list);
  WhatIf change;
  for (const nb::object& device : devices) {
    change.devices.push_back(ToPlace(device));
  }
  for (const auto& [op, library, variant, factor] : faster) {
    change.faster.push_back({op, library, variant, factor});
  }
  if (link) {
    change.link_given = true;
    std::tie(change.link_bytes_per_second, change.link_seconds) = *link;
  }
  change.budget_seconds = budget;
  const nb::gil_scoped_release release;
  return PredictPlacement(program, arrays.feeds(), fetches, change,
                          &scope.value);
}

}  // namespace

void BindPrediction(nb::module_& m) {
  nb::class_<PlacedOp>(m, "PlacedOp", "One op of a Placement.")
      .def_ro("op_index", &PlacedOp::op_index)
      .def_ro("op", &PlacedOp::op)
      .def_ro("kernel_now", &PlacedOp::kernel_now)
      .def_ro("kernel_then", &PlacedOp::kernel_then)
      .def_ro("seconds_now", &PlacedOp::seconds_now)
      .def_ro("seconds_then", &PlacedOp::seconds_then)
      .def_ro("seconds_in_run", &PlacedOp::seconds_in_run,
              "Measured in whole runs, as the plan is now.")
      .def_ro("measured_now", &PlacedOp::measured_now,
              "Whether the kernel was measured by itself.")
      .def_ro("measured_then", &PlacedOp::measured_then)
      .def_ro("changes", &PlacedOp::changes);
  nb::class_<Placement>(m, "Placement",
                        "What what_if() predicts; print it, or its `all`.")
      .def_ro("ops", &Placement::ops)
      .def_ro("predicted_now", &Placement::predicted_now)
      .def_ro("predicted_then", &Placement::predicted_then)
      .def_ro("copies_now", &Placement::copies_now)
      .def_ro("copies_then", &Placement::copies_then)
      .def_ro("executor", &Placement::executor)
      .def_ro("gap", &Placement::gap)
      .def_ro("measured_now", &Placement::measured_now)
      .def_ro("measured_then", &Placement::measured_then,
              "Without rounds where it could not be measured.")
      .def_ro("not_measured", &Placement::not_measured)
      .def_ro("hints", &Placement::hints)
      .def_ro("notes", &Placement::notes)
      .def_prop_ro("contradiction", &Placement::Contradiction,
                   "Why its measurement contradicts it; \"\" if it does not.")
      .def_prop_ro(
          "all", [](const Placement& self) { return ToString(self, true); },
          "The text with all ops.")
      .def("_table",
           [](const Placement& self) { return ReportJson(MakeTable(self)); })
      .def("__str__", [](const Placement& self) { return ToString(self); });
  m.def("_what_if", &PredictWhatIf);
}

}  // namespace sluice::python
