#include "sluice/framework/inspect/profile.h"

#include <chrono>
#include <map>
#include <new>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"
#include "sluice/platform/trace.h"

namespace sluice::framework {

namespace {

class Stopwatch : public RunObserver {
 public:
  explicit Stopwatch(const Plan& plan) {
    profile_.seconds.resize(plan.instructions().size());
    profile_.begin.resize(plan.instructions().size());
  }

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* /*tensors*/) override {
    index_ = &instruction - plan.instructions().data();
    begin_ = Now();
    profile_.begin[index_] = begin_;
  }
  void After(const Plan&, const Instruction&, const Tensor*) override {
    profile_.seconds[index_] = Now() - begin_;
    profile_.total_seconds = Now();
  }

  RunProfile Take() { return std::move(profile_); }

 private:
  double Now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  RunProfile profile_;
  ptrdiff_t index_ = 0;
  double begin_ = 0;
};

}  // namespace

double RunProfile::OpSeconds(const Plan& plan, int op_index) const {
  double sum = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (plan.instructions()[i].op_index == op_index) sum += seconds[i];
  }
  return sum;
}

std::vector<double> RunProfile::SecondsByOp(const Plan& plan) const try {
  std::vector<double> sums(plan.op_descs().size());
  for (size_t i = 0; i < seconds.size(); ++i) {
    const int op_index = plan.instructions()[i].op_index;
    if (op_index >= 0) sums[op_index] += seconds[i];
  }
  return sums;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

ProfiledRun RunProfiled(const Plan& plan,
                        const Feeds& feeds,
                        Scope* scope) try {
  Stopwatch stopwatch(plan);
  ProfiledRun run;
  run.results = plan.RunObserved(feeds, scope, stopwatch);
  run.profile = stopwatch.Take();
  return run;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

namespace {
std::string InstructionName(const Plan& plan, const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kCompute:
    case InstructionKind::kDeviceCompute:
      return plan.op_descs()[instruction.op_index].type;
    case InstructionKind::kWait:
    case InstructionKind::kQueueWait:
      return "wait";
    default:
      return "copy " + plan.slots()[instruction.to].var;
  }
}
}  // namespace

std::string ChromeTrace(const Plan& plan, const RunProfile& profile) try {
  platform::TraceWriter trace;
  std::map<std::string, int> tracks;  // one a queue
  for (size_t i = 0; i < plan.instructions().size(); ++i) {
    const Instruction& instruction = plan.instructions()[i];
    const std::string queue = instruction.device < 0
                                  ? ToString(PlaceKey(platform::CPUPlace()))
                                  : ToString(plan.queues()[instruction.device]);
    if (tracks.count(queue) == 0) tracks[queue] = trace.AddTrack(queue);
    platform::TraceEvent event;
    event.track = tracks[queue];
    event.name = InstructionName(plan, instruction);
    event.category = instruction.kernel != nullptr ? "kernel" : "transfer";
    event.start_ns = static_cast<int64_t>(profile.begin[i] * 1e9);
    event.duration_ns = static_cast<int64_t>(profile.seconds[i] * 1e9);
    event.arguments = {{"instruction", std::to_string(i)},
                       {"op", std::to_string(instruction.op_index)}};
    if (instruction.kernel != nullptr) {
      event.arguments.emplace_back(
          "kernel", ToString(*plan.decisions()[instruction.context].kernel));
    }
    trace.Add(std::move(event));
  }
  return trace.ToJson();
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
