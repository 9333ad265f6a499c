#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// lab/pick_3_percent: of two kernels, one does 1.03 times the work of the
// other; the percentage of races whose declared winner is not the faster one,
// while every CPU runs another process that alternately computes and sleeps. A
// tie counts as wrong. A row for each length of the kernels, and one for the
// worst.
void AddRaceRows(const Options& options, Report& report);

}  // namespace sluice::bench
