#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/lab/regret.h"
#include "benchmarks/lab/rows.h"

#include "sluice/laboratory/records/record_store.h"

namespace sluice::bench {
namespace {

constexpr unsigned kSeed = 1;

// The amount of measurements.
struct Extent {
  int cases = 130;
  double race_seconds = kRaceSeconds;
  double tuning_seconds = 0.15;  // for each signature
};
constexpr Extent kSmokeExtent = {
    .cases = 4, .race_seconds = 0.02, .tuning_seconds = 0.01};

// In the short time of a smoke run, a busy machine may not run a kernel; the
// regret of its case is then infinite. Only a smoke run skips such cases.
std::vector<RegretCase> Measure(const std::vector<CorpusCase>& corpus,
                                int threads,
                                double race_seconds,
                                bool smoke) {
  std::vector<RegretCase> cases = MeasureRegrets(corpus, threads, race_seconds);
  if (smoke) {
    std::erase_if(cases, [](const RegretCase& one) {
      return !std::isfinite(one.regret());
    });
  }
  return cases;
}

void AddRows(const std::string& id,
             const std::vector<RegretCase>& cases,
             const Regrets& bounds,
             Report& report) {
  const Regrets regrets = Summarize(cases);
  const auto add = [&](const char* figure, double value, double bound) {
    report.Add(
        {.id = id + figure, .unit = "x", .value = value, .at_most = bound});
  };
  add("", regrets.mean, bounds.mean);
  add("/p90", regrets.percentile_90, bounds.percentile_90);
  add("/max", regrets.max, bounds.max);
}

}  // namespace

void AddRegretRows(const Options& options, Report& report) {
  if (RecordStore::Default().size() > 0) {
    report.LeaveOut("lab/regret", "there are records already");
    return;
  }
  constexpr Regrets kEstimated = {
      .mean = 1.05, .percentile_90 = 1.15, .max = 1.6};
  constexpr Regrets kRecorded = {
      .mean = 1.01, .percentile_90 = 1.10, .max = 1.10};
  const Extent extent = options.smoke ? kSmokeExtent : Extent{};
  const std::vector<CorpusCase> corpus = DrawCorpus(kSeed, extent.cases);
  const std::vector<RegretCase> one =
      Measure(corpus, 1, extent.race_seconds, options.smoke);
  AddRows("lab/regret_estimate/t1", one, kEstimated, report);
  const std::vector<RegretCase> two =
      Measure(corpus, 2, extent.race_seconds, options.smoke);
  AddRows("lab/regret_estimate/t2", two, kEstimated, report);
  TuneCorpus(corpus, 1, extent.tuning_seconds);
  const std::vector<RegretCase> recorded =
      Measure(corpus, 1, extent.race_seconds, options.smoke);
  AddRows("lab/regret_recorded/t1", recorded, kRecorded, report);
  if (options.json.empty()) return;
  std::vector<RegretCase> all = one;
  all.insert(all.end(), two.begin(), two.end());
  all.insert(all.end(), recorded.begin(), recorded.end());
  WriteCsv(all, options.json + ".regret.csv");
}

}  // namespace sluice::bench
