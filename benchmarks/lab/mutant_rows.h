#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// lab/mutants_caught: how many of the planted wrong kernels of
// benchmarks/lab/wrong_kernels the laboratory takes for right; and
// lab/false_alarms: how many of Sluice's own, and of the planted ones without
// their mistake, it takes for wrong.
void AddMutantRows(const Options& options, Report& report);

}  // namespace sluice::bench
