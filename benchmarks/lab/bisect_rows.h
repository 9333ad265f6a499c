#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// How many runs Bisect needs to find kernels with a planted mistake of 1e-3 in
// one element among the 200 ops of a network, all of which have other,
// otherwise correct kernels under B:
//   lab/bisect_runs      the maximum for one, over 40 positions
//   lab/bisect_runs/k2   for two, and so on; each over 10 draws
// A missed kernel, or a wrongly accused one, counts as 1000.
void AddBisectRows(const Options& options, Report& report);

}  // namespace sluice::bench
