#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/diagnostics/trace.h"
#include "sluice/platform/export.h"

// Traces of runs: what each instruction of a plan does, and when it did it.
namespace sluice {

// The name of the running program in traces: that of its file, unless it was
// named otherwise (Python names the script).
SLUICE_API std::string TracedProgram();
SLUICE_API void NameTracedProgram(std::string name);

// Describes one step: the op or the copied value; kernel, index of the op,
// tensors, bytes, phase of the training and the user's line. Names a kernel
// that its device only enqueues by the op alone.
SLUICE_API TraceLabel LabelOf(const Plan& plan, const Instruction& instruction);

// The labels of all events of a plan.
struct PlanLabels {
  std::shared_ptr<const TraceLabel> run;  // with the fed tensors
  std::vector<std::shared_ptr<const TraceLabel>> instructions;
};

// Makes the labels of each plan once. Thread-safe.
class SLUICE_API TraceLabels {
 public:
  const PlanLabels& Of(const Plan& plan);

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<const PlanLabels>> by_uid_;
};

// Records one run. It waits only where a plain run waits. The thread of the run
// is the track "host", with one bar for the run and within it one for each
// instruction, those of blocks included. Kernels of a device are there while
// they are enqueued; the track of their queue has one bar from then until a
// wait for the queue ended, although the work may have ended earlier. Used by
// one thread; `labels` and `writer` outlive it.
class SLUICE_API RunTrace : public RunObserver {
 public:
  RunTrace(const Plan& plan,
           TraceLabels* labels,
           TraceWriter* writer,
           int process);
  // Ends all bars.
  ~RunTrace() override;
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  int64_t start_ns() const { return start_ns_; }

  bool synchronise() const override { return false; }
  bool enters_blocks() const override { return true; }
  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override;
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override;

 private:
  // The work that a queue may be doing.
  struct Flight {
    int64_t begin = 0;
    int steps = 0;
    std::string first;
    std::string last;
    std::string track;
    bool collective = false;
  };
  using Flights = std::map<std::pair<const Plan*, int>, Flight>;

  void Launch(const Plan& plan, const Instruction& instruction, int64_t begin);
  void Land(Flights::iterator flight, int64_t end);

  TraceLabels* const labels_;
  const PlanLabels& own_;
  TraceWriter* const writer_;
  const int process_;
  const int host_;
  const int64_t start_ns_;
  std::vector<int64_t> begins_;  // of instructions, outermost first
  Flights flights_;
};

// If SLUICE_TRACE names a file, records all later runs of Plan::Run in this
// process and writes them there at its exit. Does nothing when called again. An
// error is one line on stderr.
SLUICE_API void TraceRunsOfProcess();

}  // namespace sluice
