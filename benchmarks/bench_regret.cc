// Regret of the estimates over any corpus, with all its cases in a file, for
// developers of estimates.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "benchmarks/bench_util.h"
#include "benchmarks/lab/regret.h"
#include <CLI/CLI.hpp>

int main(int argc, char** argv) try {
  unsigned seed = 1;
  int cases = 130, threads = 1;
  bool decide_only = false, smoke = false;
  double tune = 0;
  std::string csv;
  CLI::App app("How much longer chosen kernels take than the fastest.");
  app.add_option("--seed", seed, "Of the corpus.");
  app.add_option("--cases", cases, "How many ops.");
  app.add_option("--threads", threads, "For each kernel.");
  app.add_flag("--decide_only", decide_only, "Measures nothing.");
  app.add_option(
      "--tune", tune,
      "Measures each op first, for this many seconds, and decides by records.");
  app.add_option("--csv", csv, "Where the cases are written.");
  sluice::bench::AddSmokeOption(app, &smoke);
  CLI11_PARSE(app, argc, argv);
  double race_seconds = decide_only ? 0 : sluice::bench::kRaceSeconds;
  if (smoke) {
    cases = 4;
    race_seconds = tune = 0.01;
  }
  // Results must not depend on records of this machine, or change them, unless
  // the user sets this variable.
  setenv("SLUICE_RECORDS", "off", 0);
  const auto corpus = sluice::DrawCorpus(seed, cases);
  if (tune > 0) sluice::bench::TuneCorpus(corpus, threads, tune);
  const auto measured =
      sluice::bench::MeasureRegrets(corpus, threads, race_seconds);
  if (!csv.empty()) sluice::bench::WriteCsv(measured, csv);
  if (measured.empty()) {
    std::fprintf(stderr, "bench_regret: no op has two kernels\n");
    return 1;
  }
  const sluice::bench::Regrets regrets = sluice::bench::Summarize(measured);
  std::printf("%zu cases, %d threads: mean %.4f, 90th %.4f, max %.4f\n",
              measured.size(), threads, regrets.mean, regrets.percentile_90,
              regrets.max);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_regret: %s\n", error.what());
  return 1;
}
