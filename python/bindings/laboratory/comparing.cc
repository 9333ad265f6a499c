#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/framework/inspect/debug_run.h"
#include "sluice/framework/inspect/json_writer.h"
#include "sluice/laboratory/compare.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/measure/profile_report.h"
#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/executor.h"
#include "sluice/python/bindings/feeds.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/laboratory/laboratory.h"

namespace sluice::python {

namespace {

Comparison Compare(Given<Program&, "compare"> program,
                   nb::handle feed,
                   const Given<std::string, "compare: hints_a">& hints_a,
                   const Given<std::string, "compare: hints_b">& hints_b,
                   const Given<PlaceKey>& place,
                   std::optional<double> relative_tolerance,
                   std::optional<double> absolute_tolerance,
                   Given<Scope&, "compare"> scope,
                   nb::handle fetch_list,
                   double budget) {
  const FeedArrays arrays(program, feed);
  CompareOptions options;
  options.place = place;
  options.relative_tolerance = relative_tolerance;
  options.absolute_tolerance = absolute_tolerance;
  if (!fetch_list.is_none()) options.fetches = ToFetches(program, fetch_list);
  options.budget_seconds = budget;
  return RunInterruptibly([&] {
    return sluice::Compare(program, arrays.feeds(), hints_a, hints_b, options,
                           &scope.value);
  });
}

struct Profile {
  ProfileReport report;
  std::string trace;
  std::vector<double> op_seconds;
};

Profile ProfileOf(const ProfiledPlan& measured, const RunProfile& profile) {
  std::vector<double> op_seconds;
  op_seconds.reserve(profile.ops.size());
  for (const MedianTime& time : profile.ops) {
    op_seconds.push_back(time.median);
  }
  return {MakeProfileReport(*measured.plan, profile),
          ChromeTrace(*measured.plan, profile, "", &measured),
          std::move(op_seconds)};
}

// What explain(measure=True) shows, in any width.
struct Measured {
  std::shared_ptr<const Plan> plan;
  RunProfile profile;

  std::string Text(const nb::tuple& wanted) const {
    const ExplainOptions options = ToOptions(wanted);
    return ToString(MeasuredTable(*plan, profile, options), options);
  }

  // As ExplainTables, with other members of calls.
  std::string Json(const nb::tuple& wanted) const {
    const ExplainOptions options = ToOptions(wanted);
    JsonWriter json;
    json.BeginArray();
    json.BeginObject();
    json.Field("name", options.title);
    WriteJson(MeasuredTable(*plan, profile, options), &json);
    json.Key("calls");
    json.BeginArray();
    const bool listed =
        MakeProfileReport(*plan, profile).shown().WhyNoOps().empty();
    for (const ProfiledCall& call : ProfiledCalls(*plan, profile)) {
      json.BeginObject();
      json.Field("op", call.number);
      json.Field("name", call.op);
      json.Field("kernel", call.kernel);
      json.Field("estimate", call.predicted);
      if (listed) json.Field("actual", call.seconds);
      json.Field("why", call.why);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    json.EndArray();
    return json.text();
  }
};

Measured MeasurePlan(std::shared_ptr<Plan> plan,
                     Given<Program&, "explain"> program,
                     nb::handle feed,
                     Given<Scope&, "explain"> scope,
                     double budget) {
  plan->RequireWhole("measuring");
  const FeedArrays arrays(program, feed);
  const ProfiledPlan measured{plan.get(), &arrays.feeds(), &scope.value};
  return RunInterruptibly([&] {
    auto profiles = ProfileTogether({&measured, 1}, {.budget_seconds = budget});
    return Measured{plan, std::move(profiles[0])};
  });
}

using TimesOfRun = std::tuple<double, double, double, int>;

Timing ToTiming(const TimesOfRun& times) {
  Timing timing;
  std::tie(timing.median, timing.low, timing.high, timing.rounds) = times;
  return timing;
}

Profile RunProfiled(Executor& executor,
                    nb::handle program,
                    nb::handle feed,
                    nb::handle fetch_list,
                    nb::handle scope,
                    double budget) {
  Profile profile;
  RunProgram(executor, "profile", program, feed, fetch_list, scope,
             [&](const Plan& plan, const Feeds& feeds, Scope* in) {
               ProfileOptions options;
               options.budget_seconds = budget;
               auto run = sluice::RunProfiled(plan, feeds, in, options);
               profile = ProfileOf({&plan, &feeds, in}, run.profile);
               return std::move(run.results);
             });
  return profile;
}

// A plan as JSON with its times, and a trace of its medians and of one run.
struct TimedPlan {
  std::string json;
  std::string trace;
};

std::vector<TimedPlan> TimePlans(const nb::list& plan_objects,
                                 Given<Program&, "report"> program,
                                 nb::handle feed,
                                 Given<Scope&, "report"> scope,
                                 double budget,
                                 const std::vector<std::string>& names) {
  const FeedArrays arrays(program, feed);
  std::vector<const Plan*> plans;
  std::vector<ProfiledPlan> measured;
  for (const nb::handle plan : plan_objects) {
    plans.push_back(nb::cast<const Plan*>(plan));
    measured.push_back({plans.back(), &arrays.feeds(), &scope.value});
  }
  return RunInterruptibly([&] {
    const auto profiles = ProfileTogether(measured, {.budget_seconds = budget});
    std::vector<TimedPlan> timed;
    for (size_t i = 0; i < plans.size(); ++i) {
      ExplainJsonOptions options;
      options.profile = &profiles[i];
      options.by_signature = true;
      timed.push_back(
          {ExplainJson(*plans[i], options),
           ChromeTrace(*plans[i], profiles[i], names.at(i), &measured[i])});
    }
    return timed;
  });
}

// The op of a plan that makes a number which is not finite, or leaves elements
// of its outputs, and the sentence about it; -1 and "" if there is none. Plans
// that ranks run together are not looked at.
std::pair<int, std::string> FindPlanFault(const Plan& plan,
                                          Given<Program&, "report"> program,
                                          nb::handle feed,
                                          Given<Scope&, "report"> scope) {
  const FeedArrays arrays(program, feed);
  if (!plan.hooks().empty()) return {-1, ""};
  return RunInterruptibly([&] {
    RunFault fault = FindFault(plan, arrays.feeds(), &scope.value);
    return std::pair(fault.op_index, std::move(fault.text));
  });
}

void BindTimes(nb::module_& m) {
  nb::class_<Timing>(m, "Timing", "How long calls took, in seconds.")
      .def_ro("median", &Timing::median)
      .def_ro("low", &Timing::low, "of the median's 95 % interval")
      .def_ro("high", &Timing::high)
      .def_ro("best", &Timing::best)
      .def_ro("rounds", &Timing::rounds);
  nb::class_<OpComparison>(m, "OpComparison", "One op of a Comparison.")
      .def_ro("op_index", &OpComparison::op_index)
      .def_ro("op", &OpComparison::op)
      .def_ro("kernel_a", &OpComparison::kernel_a)
      .def_ro("kernel_b", &OpComparison::kernel_b)
      .def_ro("inserted", &OpComparison::inserted, "By a pass.")
      .def_ro("same", &OpComparison::same, "Kernels and layouts.")
      .def_ro("seconds_a", &OpComparison::seconds_a)
      .def_ro("seconds_b", &OpComparison::seconds_b)
      .def_ro("max_absolute_error", &OpComparison::max_absolute_error)
      .def_ro("max_relative_error", &OpComparison::max_relative_error)
      .def_ro("differs", &OpComparison::differs)
      .def_ro("message", &OpComparison::message);
}

void BindComparison(nb::module_& m) {
  nb::class_<Comparison>(m, "Comparison",
                         "What compare() found; print it, or its `all`.")
      .def_ro("hints_a", &Comparison::hints_a)
      .def_ro("hints_b", &Comparison::hints_b)
      .def_ro("ops", &Comparison::ops)
      .def_ro("known_wrong", &Comparison::known_wrong)
      .def_ro("first_difference", &Comparison::first_difference,
              "Index into ops; -1 when all agree.")
      .def_ro("run_a", &Comparison::run_a)
      .def_ro("run_b", &Comparison::run_b)
      .def_prop_ro(
          "b_over_a",
          [](const Comparison& self) { return ToTuple(self.b_over_a); })
      .def("__bool__",
           [](const Comparison& self) { return self.first_difference < 0; })
      .def_prop_ro(
          "all", [](const Comparison& self) { return ToString(self, true); },
          "The text with all ops.")
      .def("_table",
           [](const Comparison& self) { return ReportJson(MakeTable(self)); })
      .def("__str__", [](const Comparison& self) { return ToString(self); });
  m.def("_time_text", [](double seconds) { return TimeText(seconds); });
  // The text of a run (median, low, high, rounds) beside the sum of its ops,
  // and why the ops are not listed.
  m.def("_shown_times", [](const TimesOfRun& run, double ops) {
    const ShownTimes shown{ToTiming(run), ops};
    return std::pair(shown.RunText(), shown.WhyNoOps());
  });
  m.def("_compared", [](const TimesOfRun& now, const TimesOfRun& before) {
    return ComparedText(ToTiming(now), ToTiming(before));
  });
  m.attr("_LEAST_TURNS") = kLeastTurns;
  m.def("_hints_of_set",
        [](const std::string& text) { return std::string(HintsOfSet(text)); });
  m.def("_compare", &Compare);
}

}  // namespace

void BindComparing(nb::module_& m) {
  BindTimes(m);
  BindComparison(m);
  nb::class_<Profile>(m, "Profile",
                      "How long a run and each of its ops take; print it for a "
                      "table of the slowest.")
      .def_prop_ro(
          "seconds", [](const Profile& self) { return self.report.run.median; },
          "Of a run: the median, without a clock at each op.")
      .def_prop_ro(
          "run", [](const Profile& self) { return self.report.run; },
          "The same with its interval.")
      .def_ro("op_seconds", &Profile::op_seconds)
      .def_ro("chrome_trace", &Profile::trace,
              "JSON for Perfetto or chrome://tracing.")
      .def(
          "top",
          [](const Profile& self, size_t calls) {
            return ToString(self.report, calls);
          },
          "calls"_a, "The text with this many calls of kernels.")
      .def("_table",
           [](const Profile& self) {
             return ReportJson(MakeTable(self.report));
           })
      .def("__str__",
           [](const Profile& self) { return ToString(self.report); });
  m.def("_profile", &RunProfiled);
  nb::class_<Measured>(m, "_Measured")
      .def("text", &Measured::Text)
      .def("json", &Measured::Json);
  m.def("_measure", &MeasurePlan);
  nb::class_<TimedPlan>(m, "_TimedPlan")
      .def_ro("json", &TimedPlan::json)
      .def_ro("chrome_trace", &TimedPlan::trace);
  m.def("_find_fault", &FindPlanFault);
  m.def("_time_plans", &TimePlans);
}

}  // namespace sluice::python
