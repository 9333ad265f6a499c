#pragma once

#include "benchmarks/bench_util.h"

// The groups of rows of bench_lab.
namespace sluice::bench {

// lab/pick_3_percent: of two kernels, one does 1.03 times the work of the
// other; the percentage of races whose declared winner is not the faster one,
// while every CPU runs another process that alternately computes and sleeps. A
// tie counts as wrong. A row for each length of the kernels, and one for the
// worst.
void AddRaceRows(const Options& options, Report& report);

// lab/lookup_us: the time to find the records of the candidate kernels of one
// signature in a store with the records of 2,000 signatures;
// lab/load_records_ms: the time to read them from their file.
void AddRecordRows(const Options& options, Report& report);

// How much slower the chosen kernels are than the fastest ones, over the same
// 130 ops for all rows (DrawCorpus); geometric mean, 90th percentile and
// maximum:
//   lab/regret_estimate/t1, .../t2   without records, with that many threads
//   lab/regret_recorded/t1           with those of an earlier race
// Skipped if there are records already. With options.json, all cases are in the
// file <json>.regret.csv.
void AddRegretRows(const Options& options, Report& report);

// The error of the predicted time of tuned networks (LabNetworks) on one
// thread:
//   lab/predicted_over_measured/NETWORK        |predicted / measured - 1| in %
//   lab/predicted_over_measured/NETWORK/warm   the same, from records only
//   lab/predicted_us/NETWORK, lab/measured_us/NETWORK
void AddPredictionRows(const Options& options, Report& report);

// How many runs Bisect needs to find kernels with a planted mistake of 1e-3 in
// one element among the 200 ops of a network, all of which have other,
// otherwise correct kernels under B:
//   lab/bisect_runs      the maximum for one, over 40 positions
//   lab/bisect_runs/k2   for two, and so on; each over 10 draws
// A missed kernel, or a wrongly accused one, counts as 1000.
void AddBisectRows(const Options& options, Report& report);

// lab/tune_100_s: seconds that Tune takes for 100 signatures of layers of known
// networks; and lab/tune_over_budget/...: by how many percent it exceeds its
// budget. Leaves records in the process.
void AddTuneRows(const Options& options, Report& report);

}  // namespace sluice::bench
