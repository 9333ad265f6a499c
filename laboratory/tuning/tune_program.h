#pragma once

#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/tuning/tune.h"
#include "sluice/platform/export.h"

namespace sluice {

// Tunes what the executor runs for these feeds and fetches: see TunePlans. A
// program of several stretches runs once, and each of its plans, including
// those of blocks, is tuned before its first run, on the values of that run.
// The persistables are those of `scope`, or the executor's own, and are not
// changed. Executors prepare their plans again at their next run. Raises what
// Tune of a plan raises, and what preparing raises.
SLUICE_API TuneResult Tune(Executor& executor,
                           const Program& program,
                           const Feeds& feeds,
                           const Fetches& fetches,
                           Scope* scope = nullptr,
                           const TuneOptions& options = {});

}  // namespace sluice
