#include "sluice/framework/inspect/run_trace.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

#include <unistd.h>

#include "sluice/framework/inspect/explain_summary.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/run_hooks.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::mutex g_name_mutex;
std::string& ProgramName() {
  static auto* name = new std::string(program_invocation_short_name);
  return *name;
}

bool Computes(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kCompute ||
         instruction.kind == InstructionKind::kDeviceCompute;
}

bool IsCollective(const Plan& plan, int queue) {
  return queue >= 0 && plan.queues()[queue].role == QueueRole::kOwn;
}

// "x float32 [50, 13], fc_0.w_0 float32 [13, 1]".
std::string TensorsText(const Plan& plan, const std::vector<int>& slots) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < std::min(slots.size(), kMost); ++i) {
    const Slot& slot = plan.slots()[slots[i]];
    text += Format("{}{} {} {}", i == 0 ? "" : ", ", slot.var, slot.dtype,
                   slot.dims);
  }
  if (slots.size() > kMost) {
    text += Format(" and {} more", slots.size() - kMost);
  }
  return text;
}

// What a wait for this queue waits for: an op, if it has the queue for itself.
std::string WorkOf(const Plan& plan, int queue) {
  for (const PlannedOp& op : plan.ops()) {
    if (op.device == queue && IsCollective(plan, queue)) {
      return plan.op_descs()[op.op_index].type;
    }
  }
  return ToString(plan.queues()[queue]);
}

void DescribeKernel(const Plan& plan,
                    const Instruction& instruction,
                    TraceLabel* label) {
  const PlannedOp& op = plan.ops()[instruction.context];
  const OpDesc& desc = plan.op_descs()[instruction.op_index];
  const Decision& decision = plan.decisions()[instruction.context];
  label->name = NameOf(decision);
  label->category = "kernel";
  size_t bytes = 0;
  for (const auto* slots : {&op.inputs, &op.outputs}) {
    for (const int slot : *slots) {
      bytes += plan.slots()[slot].bytes;
    }
  }
  label->arguments = {{"kernel", KernelName(*decision.kernel)},
                      {"number", Format("#{}", NumberOf(decision))},
                      {"op", std::to_string(instruction.op_index)},
                      {"inputs", TensorsText(plan, op.inputs)},
                      {"outputs", TensorsText(plan, op.outputs)},
                      {"bytes", std::to_string(bytes)},
                      {"phase", std::string(PhaseName(desc.purpose))}};
  const auto& [file, line] = desc.location;
  if (file.empty()) return;
  const std::string name = file.substr(file.find_last_of('/') + 1);
  label->arguments.emplace_back("line",
                                line == 0 ? name : Format("{}:{}", name, line));
}

// The number of this thread among those that were traced, from 1.
int ThreadNumber() {
  static std::atomic<int> last{0};
  thread_local int t_number = 0;
  if (t_number == 0) t_number = ++last;
  return t_number;
}

std::string OfThread(const std::string& track) {
  const int number = ThreadNumber();
  return number == 1 ? track : Format("{}, thread {}", track, number);
}

}  // namespace

std::string TracedProgram() {
  const std::lock_guard lock(g_name_mutex);
  return ProgramName();
}

void NameTracedProgram(std::string name) {
  const std::lock_guard lock(g_name_mutex);
  ProgramName() = std::move(name);
}

TraceLabel LabelOf(const Plan& plan, const Instruction& instruction) {
  TraceLabel label;
  if (Computes(instruction)) {
    DescribeKernel(plan, instruction, &label);
    return label;
  }
  label.arguments = {{"op", std::to_string(instruction.op_index)}};
  if (instruction.kind == InstructionKind::kWait) {
    label.name = "wait for " + WorkOf(plan, instruction.device);
    label.category =
        IsCollective(plan, instruction.device) ? "collective wait" : "wait";
  } else if (instruction.kind == InstructionKind::kQueueWait) {
    label.name = "queue wait";
    label.category = "wait";
  } else {
    const Slot& slot = plan.slots()[instruction.to];
    label.name = "copy " + slot.var;
    label.category = "transfer";
    label.arguments.emplace_back("outputs",
                                 TensorsText(plan, {instruction.to}));
    label.arguments.emplace_back("bytes", std::to_string(slot.bytes));
  }
  return label;
}

const PlanLabels& TraceLabels::Of(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  auto& kept = by_uid_[plan.uid()];
  if (kept != nullptr) return *kept;
  auto labels = std::make_unique<PlanLabels>();
  std::string feeds;
  for (const FeedSpec& feed : plan.feed_specs()) {
    feeds += Format("{}{} {} {}", feeds.empty() ? "" : ", ", feed.name,
                    feed.dtype, feed.dims);
  }
  labels->run = std::make_shared<TraceLabel>(
      TraceLabel{Format("run of {} kernels", plan.ops().size()),
                 "run",
                 {{"place", ToString(plan.place())},
                  {"threads", std::to_string(plan.num_threads())},
                  {"feeds", feeds}}});
  for (const Instruction& instruction : plan.instructions()) {
    auto label = std::make_shared<TraceLabel>(LabelOf(plan, instruction));
    if (instruction.device >= 0 && Computes(instruction)) {
      const bool collective = IsCollective(plan, instruction.device);
      label->name = (collective ? "start " : "enqueue ") + label->name;
    }
    labels->instructions.push_back(std::move(label));
  }
  kept = std::move(labels);
  return *kept;
}

RunTrace::RunTrace(const Plan& plan,
                   TraceLabels* labels,
                   TraceWriter* writer,
                   int process)
    : labels_(labels),
      own_(labels->Of(plan)),
      writer_(writer),
      process_(process),
      host_(writer->Track(OfThread("host"), process)),
      start_ns_(NanosecondsNow()) {}

RunTrace::~RunTrace() {
  try {
    const int64_t end = NanosecondsNow();
    while (!flights_.empty()) {
      Land(flights_.begin(), end);
    }
    writer_->Add({host_, own_.run, start_ns_, end - start_ns_});
  } catch (...) {  // there is no memory for the last bars
  }
}

void RunTrace::Before(const Plan& /*plan*/,
                      const Instruction& /*instruction*/,
                      const Tensor* /*tensors*/) {
  begins_.push_back(NanosecondsNow());
}

void RunTrace::After(const Plan& plan,
                     const Instruction& instruction,
                     const Tensor* /*tensors*/) {
  const int64_t end = NanosecondsNow();
  const int64_t begin = begins_.back();
  begins_.pop_back();
  const auto index = &instruction - plan.instructions().data();
  writer_->Add(
      {host_, labels_->Of(plan).instructions[index], begin, end - begin});
  if (instruction.device < 0) return;
  if (instruction.kind == InstructionKind::kWait) {
    const auto flight = flights_.find({&plan, instruction.device});
    if (flight != flights_.end()) Land(flight, end);
  } else if (instruction.kind != InstructionKind::kQueueWait) {
    Launch(plan, instruction, begin);
  }
}

void RunTrace::Launch(const Plan& plan,
                      const Instruction& instruction,
                      int64_t begin) {
  Flight& flight = flights_[{&plan, instruction.device}];
  flight.last = LabelOf(plan, instruction).name;
  if (++flight.steps > 1) return;
  flight.begin = begin;
  flight.first = flight.last;
  flight.collective = IsCollective(plan, instruction.device);
  flight.track = flight.collective
                     ? Format("op {} ({})", instruction.op_index, flight.first)
                     : ToString(plan.queues()[instruction.device]);
}

// Ends the bar of a queue that was waited for.
void RunTrace::Land(Flights::iterator flight, int64_t end) {
  const Flight& work = flight->second;
  auto label = std::make_shared<TraceLabel>();
  label->name = work.steps == 1 ? work.first
                                : Format("{} steps, {} to {}", work.steps,
                                         work.first, work.last);
  label->category = work.collective ? "collective" : "queue";
  label->arguments = {{"note", "it ended before this, when it was waited for"}};
  const int track = writer_->Track(OfThread(work.track), process_);
  writer_->Add({track, std::move(label), work.begin, end - work.begin});
  flights_.erase(flight);
}

namespace {

constexpr size_t kMostEvents = 200'000;  // a file of some 100 MB

// The trace that SLUICE_TRACE asks for. Never destroyed: other threads may run
// until the end.
class ProcessTrace final : public RunHooks {
 public:
  explicit ProcessTrace(std::string path)
      : path_(std::move(path)), id_(getpid()) {
    writer_.AddProcess(TracedProgram());
  }

  std::string_view name() const override { return "SLUICE_TRACE"; }

  std::unique_ptr<RunObserver> Observe(const Plan& plan) override {
    if (writer_.full()) {
      if (!said_full_.exchange(true)) {
        std::fprintf(stderr,
                     "SLUICE_TRACE: %zu steps are recorded; later runs are "
                     "not\n",
                     kMostEvents);
      }
      return nullptr;
    }
    return std::make_unique<RunTrace>(plan, &labels_, &writer_, 1);
  }

  // Called at the process's exit. A forked child has the events of its parent,
  // which writes them itself.
  void Write() noexcept {
    if (getpid() != id_) return;
    try {
      writer_.WriteFile(path_);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "SLUICE_TRACE: %s\n", error.what());
    }
  }

 private:
  const std::string path_;
  const pid_t id_;
  TraceWriter writer_{kMostEvents};
  std::atomic<bool> said_full_{false};
  TraceLabels labels_;
};

ProcessTrace* g_trace = nullptr;

void StartTrace() {
  const char* value = std::getenv("SLUICE_TRACE");
  if (value == nullptr || *value == '\0') return;
  std::string path = value;
  const size_t mark = path.find("%p");
  if (mark != std::string::npos) {
    path.replace(mark, 2, std::to_string(getpid()));
  }
  // Says now, and not after hours of work, that there will be no trace.
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr) {
    std::fprintf(stderr,
                 "SLUICE_TRACE: cannot write '%s': %s; runs are not "
                 "recorded\n",
                 path.c_str(), std::strerror(errno));
    return;
  }
  std::fclose(file);
  g_trace = new ProcessTrace(std::move(path));
  AddRunHooks(g_trace);
  std::atexit([] { g_trace->Write(); });
}

}  // namespace

void TraceRunsOfProcess() {
  static std::once_flag once;
  std::call_once(once, StartTrace);
}

}  // namespace sluice
