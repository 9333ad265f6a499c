#include "sluice/python/bindings/executor.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/inspect/debug_run.h"
#include "sluice/framework/plan/run_hooks.h"
#include "sluice/framework/program/ragged_rows.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/feeds.h"
#include "sluice/python/bindings/hints.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/kernels.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

using Clock = std::chrono::steady_clock;
using Explained = Given<Program&, "explain">;

// Statistics of the plan that this thread ran last.
struct LastRun {
  std::weak_ptr<const Plan> plan;
  bool brief = false;
  uint8_t runs = 0;
};
thread_local LastRun t_last;

// Shorter runs keep the GIL: releasing and reacquiring it would cost more, and
// other threads wait only briefly.
constexpr std::chrono::microseconds kBrief{20};

nb::list ToResults(const std::vector<Tensor>& tensors, bool as_numpy) {
  return ToList(tensors, [&](const Tensor& tensor) {
    return as_numpy ? FetchedArray(tensor) : nb::cast(tensor);
  });
}

// Returns run(), without the GIL, except for plans whose runs were brief so
// far. Every 256th run is measured again.
template <typename Run>
std::vector<Tensor> RunTimed(const std::shared_ptr<const Plan>& plan, Run run) {
  LastRun& last = t_last;
  const bool same =
      !last.plan.owner_before(plan) && !plan.owner_before(last.plan);
  if (same && last.brief && !HasPythonKernels() && ++last.runs != 0) {
    return run();
  }
  const auto begin = Clock::now();
  auto results = RunInterruptibly(run);
  last = {plan, Clock::now() - begin < kBrief, 0};
  return results;
}

nb::list Run(Executor& self,
             nb::handle program,
             nb::handle feed,
             nb::handle fetch_list,
             nb::handle scope,
             nb::handle return_numpy) {
  const auto results =
      RunProgram(self, "run", program, feed, fetch_list, scope);
  return ToResults(results, PyObject_IsTrue(return_numpy.ptr()) == 1);
}

nb::list RunDebugging(Executor& self,
                      nb::handle program,
                      nb::handle feed,
                      nb::handle fetch_list,
                      nb::handle scope,
                      nb::handle check_nan,
                      nb::handle return_numpy) {
  const bool check = PyObject_IsTrue(check_nan.ptr()) == 1;
  const auto results =
      RunProgram(self, "run_checked", program, feed, fetch_list, scope,
                 check ? &RunNanChecked : &RunSynchronised);
  return ToResults(results, PyObject_IsTrue(return_numpy.ptr()) == 1);
}

nb::dict RunKeepingAll(Executor& self,
                       nb::handle program,
                       nb::handle feed,
                       nb::handle fetch_list,
                       nb::handle scope) {
  std::map<std::string, Tensor> kept;
  std::vector<std::string> order;
  RunProgram(self, "run_keeping_all", program, feed, fetch_list, scope,
             [&](const Plan& plan, const Feeds& feeds, Scope* in) {
               return sluice::RunKeepingAll(plan, feeds, in, &kept, &order);
             });
  std::vector<std::pair<std::string, Tensor>> ordered;
  ordered.reserve(order.size());
  for (const std::string& name : order) {
    ordered.emplace_back(name, kept.at(name));
  }
  return ToDict(ordered, ExportArray);
}

void BindPlans(nb::module_& m) {
  nb::class_<Plan>(m, "Plan", nb::dynamic_attr(),
                   "A program prepared for one signature of feeds. Immutable.")
      .def_prop_ro("place", &Plan::place)
      .def_prop_ro("num_threads", &Plan::num_threads)
      .def_prop_ro("notes", &Plan::notes)
      .def_prop_ro("fetch_names", &Plan::fetch_names)
      .def("_explain",
           [](const Plan& self, const nb::tuple& wanted) {
             return Explain(self, ToOptions(wanted));
           })
      .def("_explain_tables",
           [](const Plan& self, const nb::tuple& wanted) {
             return Format("[{}]", ExplainTableJson(self, ToOptions(wanted)));
           })
      .def("explain_json", [](const Plan& self) { return ExplainJson(self); });
}

}  // namespace

ExplainOptions ToOptions(const nb::tuple& wanted) {
  ExplainOptions options;
  options.op = nb::cast<int>(wanted[0]);
  options.all = nb::cast<bool>(wanted[1]);
  options.fold = nb::cast<bool>(wanted[2]);
  options.width = nb::cast<int>(wanted[3]);
  options.colour = nb::cast<bool>(wanted[4]);
  for (const auto& [output, layer] : nb::cast<nb::dict>(wanted[5])) {
    options.layers[nb::cast<std::string>(output)] = {
        nb::cast<std::string>(layer[0]), nb::cast<int>(layer[1])};
  }
  options.hint_form = "with sl.kernel_hints(\"{}\"):  #";
  return options;
}

std::vector<Tensor> RunProgram(Executor& executor,
                               std::string_view function,
                               nb::handle program_object,
                               nb::handle feed,
                               nb::handle fetch_list,
                               nb::handle scope_object,
                               const RunPlan& run_plan) {
  const Program& program = ToProgram(program_object, function);
  Scope& scope = ToScope(scope_object, function);
  // Errors in arguments count as a failed run, too.
  return RunWithHooks(program, [&] {
    const FeedArrays arrays(program, feed);
    const Fetches fetches = ToFetches(program, fetch_list);
    const ActiveHints hints;
    const auto plan = executor.Prepare(program, arrays.feeds(), fetches);
    return RunTimed(plan, [&] {
      return executor.Run(program, arrays.feeds(), fetches, &scope, run_plan);
    });
  });
}

void BindExecutors(nb::module_& m) {
  InterruptibleRun::SetMainThread();
  BindPlans(m);
  m.def("_row_capacity", &RowCapacity);
  nb::class_<Executor>(m, "Executor")
      .def(
          "__init__",
          [](Executor* self, nb::handle place, bool passes, int queues,
             size_t plan_memory) {
            new (self) Executor(place.is_none() ? PlaceKey() : ToPlace(place),
                                {.passes = passes,
                                 .queues = queues,
                                 .plan_memory = plan_memory});
          },
          "place"_a = nb::none(), nb::kw_only(), "passes"_a = true,
          "queues"_a = 1, "plan_memory"_a = 0)
      .def("_run", &Run)
      .def("_run_debugging", &RunDebugging)
      .def("_run_keeping_all", &RunKeepingAll)
      .def("_prepare",
           [](Executor& self, Given<Program&, "prepare"> program,
              nb::handle feed, nb::handle fetch_list) {
             const FeedArrays arrays(program, feed);
             const Fetches fetches = ToFetches(program, fetch_list);
             const ActiveHints hints;
             return std::const_pointer_cast<Plan>(
                 self.Prepare(program, arrays.feeds(), fetches));
           })
      .def("_explain",
           [](const Executor& self, Explained program, const nb::tuple& how) {
             const ActiveHints hints;
             return self.Explain(program, ToOptions(how));
           })
      .def("_explain_tables",
           [](const Executor& self, Explained program, const nb::tuple& how) {
             const ActiveHints hints;
             return self.ExplainTables(program, ToOptions(how));
           })
      .def("_last_plan",
           [](const Executor& self, Explained program) {
             return std::const_pointer_cast<Plan>(self.LastPlan(program));
           })
      .def_prop_ro("place", &Executor::place)
      .def_prop_ro("cached_plans", &Executor::cached_plans);
}

}  // namespace sluice::python
