#pragma once

#include <span>
#include <string>
#include <vector>

#include "benchmarks/lab/regret_corpus.h"

#include "sluice/framework/measure/race.h"
#include "sluice/framework/op/kernel_work.h"

namespace sluice::bench {

// One kernel that could compute a case.
struct RegretKernel {
  const framework::KernelDef* kernel = nullptr;
  double predicted = 0;
  framework::KernelWork work;
  framework::Timing timing;

  // The median, or the shortest of the first runs of a kernel that was too
  // slow for more; infinity where it was not run.
  double seconds() const;
};

// What was decided for a case, and what was measured.
struct RegretCase {
  std::string network;
  std::string op;
  std::string signature;
  int threads = 1;
  std::vector<RegretKernel> kernels;
  size_t chosen = 0;  // in kernels

  // The time of the chosen kernel over that of the fastest.
  double regret() const;
};

struct Regrets {
  double mean = 1;  // geometric
  double percentile_90 = 1;
  double max = 1;
};
Regrets Summarize(std::span<const RegretCase> cases);

// What measuring the kernels of a case may take.
constexpr double kRaceSeconds = 0.8;

// Decides for each case as Prepare does, with what records there are, and
// measures all its kernels for `race_seconds`, or none for 0. Cases with fewer
// than two kernels are left out.
std::vector<RegretCase> MeasureRegrets(std::span<const CorpusCase> corpus,
                                       int threads,
                                       double race_seconds);

// Measures the kernels of each case as Tune does, so long each, or as long as
// five rounds take, and keeps the records in the process's store.
void TuneCorpus(std::span<const CorpusCase> corpus,
                int threads,
                double seconds);

// Writes a line for each kernel of each case, after one of headings.
void WriteCsv(std::span<const RegretCase> cases, const std::string& path);

}  // namespace sluice::bench
