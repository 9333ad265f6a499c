// Records when each instruction of a run began and ended.
#include <cstdint>
#include <string>

#include "sluice/framework/inspect/run_trace.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/python/bindings/executor.h"
#include "sluice/python/bindings/feeds.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

// Returns (results, JSON, CLOCK_MONOTONIC nanoseconds of the trace's time 0).
nb::tuple RunTraced(Executor& executor,
                    nb::handle program,
                    nb::handle feed,
                    nb::handle fetch_list,
                    nb::handle scope) {
  TraceLabels labels;
  TraceWriter trace;
  const int process = trace.AddProcess(TracedProgram());
  int64_t start_ns = 0;
  const auto tensors =
      RunProgram(executor, "run_traced", program, feed, fetch_list, scope,
                 [&](const Plan& plan, const Feeds& feeds, Scope* in) {
                   plan.RequireWhole("a trace");
                   RunTrace run(plan, &labels, &trace, process);
                   start_ns = run.start_ns();
                   return plan.RunObserved(feeds, in, run);
                 });
  return nb::make_tuple(ToList(tensors, FetchedArray), trace.ToJson(),
                        start_ns);
}

}  // namespace

void BindTimelines(nb::module_& m) {
  m.def("_name_traced_program", &NameTracedProgram);
  m.def("_run_traced", &RunTraced);
}

}  // namespace sluice::python
