#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/laboratory/tuning/corpus.h"

namespace sluice::bench {

// A kernel that can compute a case.
struct RegretKernel {
  const KernelDef* kernel = nullptr;
  double predicted = 0;
  KernelWork work;
  Timing timing;

  // The median, or the shortest first run of a kernel that was too slow for
  // more; infinity if it was not run.
  double seconds() const;
};

// The decision for a case, and the measurements.
struct RegretCase {
  std::string network;
  std::string op;
  std::string signature;
  int threads = 1;
  std::vector<RegretKernel> kernels;
  size_t chosen = 0;  // in kernels

  // The time of the chosen kernel divided by that of the fastest.
  double regret() const;
};

struct Regrets {
  double mean = 1;  // geometric
  double percentile_90 = 1;
  double max = 1;
};
Regrets Summarize(std::span<const RegretCase> cases);

// Seconds for measuring the kernels of a case.
constexpr double kRaceSeconds = 0.8;

// Decides for each case like Prepare, with the existing records, and measures
// all its kernels for `race_seconds`, or none if that is 0. Skips cases with
// fewer than two kernels.
std::vector<RegretCase> MeasureRegrets(std::span<const CorpusCase> corpus,
                                       int threads,
                                       double race_seconds);

// Measures the kernels of each case like Tune, for `seconds` or the time of
// five rounds, and keeps the records in the process's store.
void TuneCorpus(std::span<const CorpusCase> corpus,
                int threads,
                double seconds);

// Writes a line for each kernel of each case, after a header line.
void WriteCsv(std::span<const RegretCase> cases, const std::string& path);

}  // namespace sluice::bench
