#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

// Functions that a library adds to runs: ranks agree on what they exchange, the
// laboratory measures first. They are called by the running thread. An
// exception ends the run; its message names the hooks.
namespace sluice {

class Executor;
class FetchTarget;
class Graph;
class RunObserver;

// Hooks in one frame of a plan; used by one thread at a time.
class SLUICE_API FrameHooks {
 public:
  virtual ~FrameHooks();
  // Called when feeds and persistables are bound; `scope` may be null.
  virtual void BeforeRun(Scope* scope) = 0;
  // Called before and after each op with a queue of its own.
  virtual void BeforeExchange(const Instruction& /*instruction*/) {}
  virtual void AfterExchange(const Instruction& /*instruction*/) {}
  virtual void AfterInstruction(const Instruction& /*instruction*/) {}
  // Called before the host waits for a queue.
  virtual void BeforeWait() {}
  // Called in the handler of the exception that ended the run.
  virtual void OnFailure() noexcept {}
  // Called at the end of each run, also after failures.
  virtual void AfterRun() noexcept {}
};

// Hooks in all runs of one plan; immutable.
class SLUICE_API PlanHooks {
 public:
  virtual ~PlanHooks();
  virtual std::unique_ptr<FrameHooks> NewFrame() const = 0;
  // Raises Unimplemented if the plan cannot run any number of times in this
  // process alone, which `what` ("tuning") does.
  virtual void RequireAlone(std::string_view what) const = 0;
};

// The run of a program by the user: one plan, or all its stretches and blocks.
class SLUICE_API ProgramRun {
 public:
  virtual ~ProgramRun();
  virtual void Failed(std::string_view why) noexcept = 0;
};

// Hooks in all runs of the process. They are never destroyed.
class SLUICE_API RunHooks {
 public:
  virtual ~RunHooks();
  virtual std::string_view name() const = 0;

  // Called at the end of a preparation, when all kernels are chosen; may add
  // notes for Explain. Null if this plan needs no hooks.
  virtual std::shared_ptr<const PlanHooks> Prepared(
      const Program& /*program*/,
      const Graph& /*graph*/,
      std::vector<std::string>* /*notes*/) {
    return nullptr;
  }
  // Called when a run begins. Null if its end does not matter.
  virtual std::unique_ptr<ProgramRun> Begin(const Program& /*program*/) {
    return nullptr;
  }
  // Called before an executor first runs the plan that it has prepared for
  // these feeds and fetches, if has_first_run(); it prepares the plan again
  // afterwards.
  virtual bool has_first_run() const { return false; }
  virtual void BeforeFirstRun(Executor& /*executor*/,
                              const Program& /*program*/,
                              const Plan& /*plan*/,
                              const Feeds& /*feeds*/,
                              const std::vector<FetchTarget>& /*fetches*/,
                              Scope* /*scope*/) {}
  // Returns the number that a run's random ops use in place of `step`.
  virtual uint64_t RandomStep(const Plan& /*plan*/, uint64_t step) {
    return step;
  }
  // Called before Plan::Run; null if this run is not observed. At most one hook
  // observes a run.
  virtual std::unique_ptr<RunObserver> Observe(const Plan& plan);
};

// Adds hooks to all later runs; does nothing if they were added before.
// Thread-safe.
SLUICE_API void AddRunHooks(RunHooks* hooks);
SLUICE_API std::span<RunHooks* const> ActiveRunHooks();

// The run of a program, between RunHooks::Begin and its end.
class SLUICE_API BegunRun {
 public:
  explicit BegunRun(const Program& program);
  void Failed(std::string_view why) noexcept;

 private:
  std::vector<std::unique_ptr<ProgramRun>> runs_;
};

// Returns run(), called in a BegunRun.
template <typename Run>
auto RunWithHooks(const Program& program, Run run) {
  BegunRun begun(program);
  try {
    return run();
  } catch (const std::exception& error) {
    begun.Failed(error.what());
    throw;
  }
}

// Called in a handler: adds the hooks' name to the current exception, as a
// Error, and raises that.
[[noreturn]] SLUICE_API void RethrowInHooks(std::string_view name);

// Returns call(); errors name the hooks.
template <typename Call>
auto CallHooks(std::string_view name, Call call) {
  try {
    return call();
  } catch (...) {
    RethrowInHooks(name);
  }
}

}  // namespace sluice
