#pragma once

#include "sluice/framework/run/executor.h"
#include "sluice/framework/tuning/tune.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Tunes what the executor runs for these feeds and fetches: see TunePlans. A
// program of several stretches runs once, and each of its plans, those of
// blocks too, is tuned before it first runs, on the values of that run. The
// persistables are those of `scope`, or of the executor's own; they stay as
// they are. Executors prepare their plans again when they next run them. Raises
// as Tune of a plan does, and what preparing raises.
SLUICE_API TuneResult Tune(Executor& executor,
                           const Program& program,
                           const Feeds& feeds,
                           const Fetches& fetches,
                           Scope* scope = nullptr,
                           const TuneOptions& options = {});

}  // namespace sluice::framework
