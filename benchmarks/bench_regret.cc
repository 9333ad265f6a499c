// Regret of the estimates over any corpus, with all its cases in a file: for
// those who fit an estimate.
#include <cstdio>
#include <string>

#include "benchmarks/lab/regret.h"
#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  unsigned seed = 1;
  int cases = 130, threads = 1;
  bool decide_only = false;
  std::string csv;
  CLI::App app("How much longer chosen kernels take than the fastest.");
  app.add_option("--seed", seed, "Of the corpus.");
  app.add_option("--cases", cases, "How many ops.");
  app.add_option("--threads", threads, "For each kernel.");
  app.add_flag("--decide_only", decide_only, "Measures nothing.");
  app.add_option("--csv", csv, "Where the cases are written.");
  CLI11_PARSE(app, argc, argv);
  const auto measured = sluice::bench::MeasureRegrets(
      sluice::bench::DrawCorpus(seed, cases), threads, !decide_only);
  if (!csv.empty()) sluice::bench::WriteCsv(measured, csv);
  const sluice::bench::Regrets regrets = sluice::bench::Summarize(measured);
  std::printf("%zu cases, %d threads: mean %.4f, 90th %.4f, max %.4f\n",
              measured.size(), threads, regrets.mean, regrets.percentile_90,
              regrets.max);
  return 0;
}
