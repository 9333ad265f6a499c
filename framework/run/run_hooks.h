#pragma once

#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Functions that a library adds to the runs of all executors. They are called
// by the running thread; an exception ends the run.
class SLUICE_API RunHooks {
 public:
  virtual ~RunHooks();

  // Called before an executor first runs the plan that it has prepared for
  // these feeds and fetches; it prepares the plan again afterwards.
  virtual void BeforeFirstRun(Executor& executor,
                              const Program& program,
                              const Plan& plan,
                              const Feeds& feeds,
                              const Fetches& fetches,
                              Scope* scope) = 0;
};

// Null, the initial value, disables hooks. They must never be destroyed.
SLUICE_API void SetRunHooks(RunHooks* hooks);
SLUICE_API RunHooks* ActiveRunHooks();

}  // namespace sluice::framework
