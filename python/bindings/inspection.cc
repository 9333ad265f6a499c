#include <chrono>
#include <string>

#include "sluice/framework/inspect/explain.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/feeds.h"

namespace sluice::python {

namespace {

std::string ExplainBySignature(const Plan& plan) {
  ExplainJsonOptions options;
  options.by_signature = true;
  return ExplainJson(plan, options);
}

// Seconds of one Plan::Run without Python: the baseline of
// benchmarks/python_overhead.py.
double MeasurePlan(const Plan& plan,
                   const Program& program,
                   nb::handle feed,
                   Scope& scope,
                   int repeat) {
  const FeedArrays arrays(program, feed);
  const nb::gil_scoped_release release;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeat; ++i) {
    plan.Run(arrays.feeds(), &scope);
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  return took.count() / repeat;
}

}  // namespace

void BindInspection(nb::module_& m) {
  m.def("_explain_by_signature", &ExplainBySignature);
  m.def("_measure_plan", &MeasurePlan);
  m.def("memory_summary", &MemoryTable,
        "Memory in use and peak at each place, as a table.");
}

}  // namespace sluice::python
