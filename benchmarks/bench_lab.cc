// The laboratory: how well it measures, and what it costs.
#include <cstdlib>

#include "benchmarks/bench_util.h"
#include "benchmarks/lab/assignment_rows.h"
#include "benchmarks/lab/bisect_rows.h"
#include "benchmarks/lab/mutant_rows.h"
#include "benchmarks/lab/prediction_rows.h"
#include "benchmarks/lab/race_rows.h"
#include "benchmarks/lab/record_rows.h"
#include "benchmarks/lab/regret_rows.h"
#include "benchmarks/lab/tune_rows.h"

int main(int argc, char** argv) {
  using sluice::bench::Options;
  using sluice::bench::Report;
  const Options options = sluice::bench::ParseOptions(
      argc, argv, "How well kernels are measured and chosen.");
  // Nothing here may depend on records of this machine, or leave any.
  setenv("SLUICE_RECORDS", "off", 1);
  using Rows = void (*)(const Options&, Report&);
  constexpr Rows kRows[] = {
      sluice::bench::AddAssignmentRows, sluice::bench::AddMutantRows,
      sluice::bench::AddRaceRows,       sluice::bench::AddRecordRows,
      sluice::bench::AddRegretRows,     sluice::bench::AddPredictionRows,
      sluice::bench::AddBisectRows,     sluice::bench::AddTuneRows};
  Report report;
  for (const Rows rows : kRows) {
    rows(options, report);
  }
  return report.Finish(options);
}
