#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// lab/tune_100_s: seconds that Tune takes for 100 signatures of layers of known
// networks; and lab/tune_over_budget/...: by how many percent it exceeds its
// budget. Leaves records in the process.
void AddTuneRows(const Options& options, Report& report);

}  // namespace sluice::bench
