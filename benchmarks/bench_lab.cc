// The laboratory: how well it measures, and what it costs.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_util.h"
#include "benchmarks/lab/assignment_rows.h"
#include "benchmarks/lab/bisect_rows.h"
#include "benchmarks/lab/mutant_rows.h"
#include "benchmarks/lab/prediction_rows.h"
#include "benchmarks/lab/race_rows.h"
#include "benchmarks/lab/record_rows.h"
#include "benchmarks/lab/regret_rows.h"
#include "benchmarks/lab/tune_rows.h"

using sluice::bench::Report;

int main(int argc, char** argv) {
  using sluice::bench::Options;
  const std::pair<std::string, void (*)(const Options&, Report&)> kGroups[] = {
      {"assignment", sluice::bench::AddAssignmentRows},
      {"race", sluice::bench::AddRaceRows},
      {"records", sluice::bench::AddRecordRows},
      {"regret", sluice::bench::AddRegretRows},
      {"prediction", sluice::bench::AddPredictionRows},
      {"bisect", sluice::bench::AddBisectRows},
      {"tune", sluice::bench::AddTuneRows},
      // The last: its wrong kernels would be candidates of the others.
      {"mutants", sluice::bench::AddMutantRows}};
  std::vector<std::string> names;
  for (const auto& [name, rows] : kGroups) {
    names.push_back(name);
  }
  const Options options = sluice::bench::ParseOptions(
      argc, argv, "How well kernels are measured and chosen.", names);
  // Nothing here may depend on records of this machine, or leave any.
  setenv("SLUICE_RECORDS", "off", 1);
  Report report;
  for (const auto& [name, rows] : kGroups) {
    if (options.only.empty() || options.only == name) rows(options, report);
  }
  return report.Finish(options);
}
