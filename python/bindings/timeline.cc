// Records when each instruction of a run began and ended.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/diagnostics/trace.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/executor.h"
#include "sluice/python/bindings/feeds.h"

namespace sluice::python {

namespace {

// Records a run without waits that a plain run does not have.
class Timeline final : public RunObserver {
 public:
  explicit Timeline(const Plan& plan)
      : plan_(plan), host_(trace_.AddTrack("host")) {}

  bool synchronise() const override { return false; }

  void Before(const Plan& /*plan*/,
              const Instruction& /*instruction*/,
              const Tensor* /*tensors*/) override {
    begin_ = NanosecondsNow();
    if (start_ns_ == 0) start_ns_ = begin_;
  }

  void After(const Plan& /*plan*/,
             const Instruction& instruction,
             const Tensor* /*tensors*/) override {
    const int64_t end = NanosecondsNow();
    const bool collective = IsCollective(instruction.device);
    const bool compute = instruction.kind == InstructionKind::kCompute ||
                         instruction.kind == InstructionKind::kDeviceCompute;
    if (collective && compute) {
      flights_[instruction.device] = {begin_, instruction.op_index};
      Add(host_, "start " + OpName(instruction.op_index), "kernel", begin_, end,
          instruction.op_index);
    } else if (instruction.kind == InstructionKind::kWait) {
      const auto flight = flights_.find(instruction.device);
      const bool known = flight != flights_.end();
      const std::string queue =
          known ? OpName(flight->second.op)
                : ToString(plan_.queues()[instruction.device]);
      Add(host_, "wait for " + queue, known ? "collective wait" : "wait",
          begin_, end, instruction.op_index);
      if (known) Land(flight, end);
    } else if (compute) {
      const std::string enqueue = instruction.device < 0 ? "" : "enqueue ";
      Add(host_, enqueue + OpName(instruction.op_index), "kernel", begin_, end,
          instruction.op_index);
    } else {
      Add(host_,
          instruction.kind == InstructionKind::kQueueWait ? "queue wait"
                                                          : "copy",
          "transfer", begin_, end, instruction.op_index);
    }
  }

  // Returns the trace; called after the run.
  std::string Finish() {
    while (!flights_.empty()) {
      Land(flights_.begin(), NanosecondsNow());
    }
    return trace_.ToJson();
  }

  // The start of the first event.
  int64_t start_ns() const { return start_ns_; }

 private:
  struct Flight {
    int64_t begin = 0;
    int op = -1;
  };
  using Flights = std::map<int, Flight>;  // by queue

  bool IsCollective(int queue) const {
    return queue >= 0 && plan_.queues()[queue].role == QueueRole::kOwn;
  }

  std::string OpName(int op) const {
    return op < 0 ? "what no op asked for" : plan_.op_descs()[op].type;
  }

  // Ends a collective op that was waited for.
  void Land(Flights::iterator flight, int64_t end) {
    const auto [begin, op] = flight->second;
    const int track = trace_.AddTrack(Format("op {} ({})", op, OpName(op)));
    Add(track, OpName(op), "collective", begin, end, op);
    flights_.erase(flight);
  }

  void Add(int track,
           std::string name,
           std::string category,
           int64_t begin,
           int64_t end,
           int op) {
    TraceEvent event;
    event.track = track;
    event.name = std::move(name);
    event.category = std::move(category);
    event.start_ns = begin;
    event.duration_ns = end - begin;
    event.arguments = {{"op", std::to_string(op)}};
    trace_.Add(std::move(event));
  }

  const Plan& plan_;
  TraceWriter trace_;
  int host_;
  int64_t begin_ = 0;
  int64_t start_ns_ = 0;
  Flights flights_;
};

// Returns (results, JSON, CLOCK_MONOTONIC nanoseconds of the trace's time 0).
nb::tuple RunTraced(Executor& executor,
                    nb::handle program,
                    nb::handle feed,
                    nb::handle fetch_list,
                    nb::handle scope) {
  std::string json;
  int64_t start_ns = 0;
  const auto tensors =
      RunProgram(executor, "run_traced", program, feed, fetch_list, scope,
                 [&](const Plan& plan, const Feeds& feeds, Scope* in) {
                   plan.RequireWhole("a trace");
                   Timeline timeline(plan);
                   auto results = plan.RunObserved(feeds, in, timeline);
                   json = timeline.Finish();
                   start_ns = timeline.start_ns();
                   return results;
                 });
  nb::list results;
  for (const Tensor& tensor : tensors) {
    results.append(FetchedArray(tensor));
  }
  return nb::make_tuple(results, nb::str(json.data(), json.size()), start_ns);
}

}  // namespace

void BindTimelines(nb::module_& m) {
  m.def("_run_traced", &RunTraced, nb::arg("executor"),
        nb::arg("program").none(), nb::arg("feed").none(),
        nb::arg("fetch_list").none(), nb::arg("scope").none());
}

}  // namespace sluice::python
