#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// lab/pick_3_percent: of two kernels, one of which does 1.03 times the work of
// the other, in how many percent of all races the faster one is not the
// declared winner, while every CPU runs another process that computes and
// sleeps by turns. A tie counts as wrong. A row for each length of the
// kernels, and one for the worst of them.
void AddRaceRows(const Options& options, Report& report);

}  // namespace sluice::bench
