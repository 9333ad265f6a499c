// Measures the records that are shipped in records/: kernels of random ops from
// well-known networks, and of the laboratory's own networks, on one thread and
// on all. Keeps those of signatures for which estimates choose badly.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_util.h"
#include "benchmarks/lab/networks.h"
#include "benchmarks/lab/regret.h"
#include <CLI/CLI.hpp>

#include "sluice/framework/costs/machine.h"
#include "sluice/laboratory/records/record_file.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/platform/parallel_for.h"

namespace {

using sluice::Record;
using sluice::RecordStore;
using sluice::Verdict;

// Differs from the seed of lab/regret_*, whose figures are about other ops.
constexpr unsigned kSeed = 3;
// Times as long as the fastest kernel.
constexpr double kWorthKeeping = 1.05;

// The amount of measurements.
struct Extent {
  int cases = 150;
  double seconds_per_op = 0.3;
  double seconds_per_network = 120;
  size_t networks = std::numeric_limits<size_t>::max();
};
constexpr Extent kSmokeExtent = {.cases = 4,
                                 .seconds_per_op = 0.01,
                                 .seconds_per_network = 0.1,
                                 .networks = 1};

void Measure(const std::vector<sluice::CorpusCase>& corpus,
             std::vector<sluice::bench::Network>& networks,
             sluice::Scope* scope,
             const Extent& extent,
             int threads) {
  sluice::SetNumThreads(threads);
  sluice::bench::TuneCorpus(corpus, threads, extent.seconds_per_op);
  std::fprintf(stderr, "%d threads, %zu ops: %zu records\n", threads,
               corpus.size(), RecordStore::Default().size());
  for (sluice::bench::Network& network : networks) {
    sluice::Executor executor;
    const auto tuned =
        sluice::Tune(executor, network.program, network.feeds, network.fetches,
                     scope, {.budget_seconds = extent.seconds_per_network});
    std::fprintf(
        stderr,
        "%d threads, %s: %zu signatures in %.1f s, %d left out; %zu records\n",
        threads, network.name.c_str(), tuned.signatures.size(), tuned.seconds,
        tuned.left_out, RecordStore::Default().size());
  }
}

// Whether the kernel that is fastest by estimates is slower than the fastest
// one, or some kernel was wrong. The records are of one signature.
bool EstimatesMislead(const std::vector<Record>& records) {
  const Record* expected = nullptr;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Record& record : records) {
    if (record.verdict == Verdict::kWrong) return true;
    if (record.rounds == 0) continue;
    if (expected == nullptr || record.estimate < expected->estimate) {
      expected = &record;
    }
    fastest = std::min(fastest, record.median);
  }
  return expected != nullptr && expected->median > kWorthKeeping * fastest;
}

// Selects the records to ship.
std::vector<Record> RecordsToShip() {
  std::map<std::pair<std::string, int>, std::vector<Record>> by_signature;
  RecordStore::Default().ForEach([&](const Record& record) {
    by_signature[{record.signature, record.threads}].push_back(record);
  });
  std::vector<Record> shipped;
  for (const auto& [key, records] : by_signature) {
    if (!EstimatesMislead(records)) continue;
    shipped.insert(shipped.end(), records.begin(), records.end());
  }
  return shipped;
}

// Appends the records to the file, and raises if it does not contain them.
void Write(const std::string& path, const std::vector<Record>& records) {
  sluice::AppendToRecordFile(path, records, {});
  const size_t written =
      sluice::AllRecords(sluice::ReadRecordLines(path)).size();
  if (written == records.size()) return;
  throw std::runtime_error(path + " holds " + std::to_string(written) +
                           " records; expected " +
                           std::to_string(records.size()));
}

}  // namespace

int main(int argc, char** argv) try {
  std::string output;
  Extent extent;
  bool smoke = false;
  CLI::App app("Measures records of this machine, to be shipped.");
  app.add_option("--output", output, "A new file, such as records/NAME.jsonl.")
      ->required()
      ->check(CLI::NonexistentPath);
  app.add_option("--cases", extent.cases, "How many ops are drawn.")
      ->check(CLI::NonNegativeNumber);
  sluice::bench::AddSmokeOption(app, &smoke);
  CLI11_PARSE(app, argc, argv);
  if (smoke) extent = kSmokeExtent;
  setenv("SLUICE_RECORDS", "off", 1);  // records stay in memory
  std::printf("%s\n", sluice::MachineId().text.c_str());
  const auto corpus = sluice::DrawCorpus(kSeed, extent.cases);
  sluice::Scope scope;
  auto networks = sluice::bench::LabNetworks(&scope);
  networks.resize(std::min(networks.size(), extent.networks));
  for (const int threads : std::set<int>{1, sluice::NumThreads()}) {
    Measure(corpus, networks, &scope, extent, threads);
  }
  if (RecordStore::Default().empty()) {
    throw std::runtime_error("nothing was measured");
  }
  const std::vector<Record> shipped = RecordsToShip();
  Write(output, shipped);
  std::fprintf(stderr, "%s: %zu of %zu records\n", output.c_str(),
               shipped.size(), RecordStore::Default().size());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_records: %s\n", error.what());
  return 1;
}
