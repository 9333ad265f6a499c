#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// How much slower the chosen kernels are than the fastest ones, over the same
// 130 ops for all rows (DrawCorpus); geometric mean, 90th percentile and
// maximum:
//   lab/regret_estimate/t1, .../t2   without records, with that many threads
//   lab/regret_recorded/t1           with those of an earlier race
// Skipped if there are records already. With options.json, all cases are in the
// file <json>.regret.csv.
void AddRegretRows(const Options& options, Report& report);

}  // namespace sluice::bench
