#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// lab/tune_100_s: seconds that Tune takes for 100 signatures that are drawn
// from the layers of known networks; and lab/tune_over_budget/...: by how many
// percent it takes longer than it may. Leaves records in the process.
void AddTuneRows(const Options& options, Report& report);

}  // namespace sluice::bench
