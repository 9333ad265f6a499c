// The laboratory: the quality and the cost of its measurements.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_util.h"
#include "benchmarks/lab/rows.h"

using sluice::bench::Report;

int main(int argc, char** argv) {
  using sluice::bench::Options;
  const std::pair<std::string, void (*)(const Options&, Report&)> kGroups[] = {
      {"race", sluice::bench::AddRaceRows},
      {"records", sluice::bench::AddRecordRows},
      {"regret", sluice::bench::AddRegretRows},
      {"prediction", sluice::bench::AddPredictionRows},
      {"bisect", sluice::bench::AddBisectRows},
      {"tune", sluice::bench::AddTuneRows}};
  std::vector<std::string> names;
  for (const auto& [name, rows] : kGroups) {
    names.push_back(name);
  }
  const Options options = sluice::bench::ParseOptions(
      argc, argv, "How well kernels are measured and chosen.", names);
  // Results must not depend on records of this machine, or change them.
  setenv("SLUICE_RECORDS", "off", 1);
  Report report;
  for (const auto& [name, rows] : kGroups) {
    if (options.only.empty() || options.only == name) rows(options, report);
  }
  return report.Finish(options);
}
