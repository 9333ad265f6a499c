// Measures what ships in records/: the kernels of ops that are drawn at random
// from well-known networks, and of the laboratory's own networks, on one thread
// and on all. Kept are those of signatures for which estimates choose badly.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/lab/networks.h"
#include "benchmarks/lab/regret.h"
#include <CLI/CLI.hpp>

#include "sluice/framework/measure/machine.h"
#include "sluice/framework/measure/record_file.h"
#include "sluice/framework/measure/record_store.h"
#include "sluice/framework/run/tune_program.h"
#include "sluice/platform/parallel_for.h"

namespace {

using sluice::framework::Record;
using sluice::framework::RecordStore;
using sluice::framework::Verdict;

// Not that of lab/regret_*, so that those stay figures about other ops.
constexpr unsigned kSeed = 3;
constexpr double kSecondsPerOp = 0.3;
constexpr double kSecondsPerNetwork = 120;
// Times as long as the fastest.
constexpr double kWorthKeeping = 1.05;

void Measure(const std::vector<sluice::bench::CorpusCase>& corpus,
             std::vector<sluice::bench::Network>& networks,
             sluice::framework::Scope* scope,
             int threads) {
  sluice::platform::SetNumThreads(threads);
  sluice::bench::TuneCorpus(corpus, threads, kSecondsPerOp);
  std::fprintf(stderr, "%d threads, %zu ops: %zu records\n", threads,
               corpus.size(), RecordStore::Default().size());
  for (sluice::bench::Network& network : networks) {
    sluice::framework::Executor executor;
    const auto tuned = sluice::framework::Tune(
        executor, network.program, network.feeds, network.fetches, scope,
        {.budget_seconds = kSecondsPerNetwork});
    std::fprintf(
        stderr,
        "%d threads, %s: %zu signatures in %.1f s, %d left out; %zu records\n",
        threads, network.name.c_str(), tuned.signatures.size(), tuned.seconds,
        tuned.left_out, RecordStore::Default().size());
  }
}

// Whether the kernel that looks fastest by estimates takes longer than the
// fastest, or one was wrong. The records are of one signature.
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

// What is worth a place in every process.
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

}  // namespace

int main(int argc, char** argv) try {
  std::string output;
  int cases = 150;
  CLI::App app("Measures records of this machine, to be shipped.");
  app.add_option("--output", output, "A new file, such as records/NAME.jsonl.")
      ->required()
      ->check(CLI::NonexistentPath);
  app.add_option("--cases", cases, "How many ops are drawn.")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  setenv("SLUICE_RECORDS", "off", 1);  // they stay in memory
  std::printf("%s\n", sluice::framework::MachineId().text.c_str());
  const auto corpus = sluice::bench::DrawCorpus(kSeed, cases);
  sluice::framework::Scope scope;
  auto networks = sluice::bench::LabNetworks(&scope);
  for (const int threads : std::set<int>{1, sluice::platform::NumThreads()}) {
    Measure(corpus, networks, &scope, threads);
  }
  const std::vector<Record> shipped = RecordsToShip();
  sluice::framework::AppendToRecordFile(output, shipped, {});
  std::fprintf(stderr, "%s: %zu of %zu records\n", output.c_str(),
               shipped.size(), RecordStore::Default().size());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_records: %s\n", error.what());
  return 1;
}
