#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// lab/lookup_us: the time to find the records of the candidate kernels of one
// signature in a store with the records of 2,000 signatures;
// lab/load_records_ms: the time to read them from their file.
void AddRecordRows(const Options& options, Report& report);

}  // namespace sluice::bench
