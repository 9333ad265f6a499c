#include "benchmarks/lab/regret.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <limits>
#include <memory>
#include <sstream>

#include "sluice/framework/choice/resolver.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/laboratory/tuning/signature_tuner.h"
#include "sluice/platform/error.h"

namespace sluice::bench {
namespace {

// Kernels of one case, ready to run.
struct Runs {
  Runs(const IsolatedOp& op, RegretCase* measured) {
    std::vector<RegretKernel> kernels;
    for (size_t i = 0; i < measured->kernels.size(); ++i) {
      RegretKernel& kernel = measured->kernels[i];
      try {
        runs.push_back(std::make_unique<KernelRun>(
            op, *kernel.kernel, CPUPlace(), measured->threads));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUnimplemented) throw;
        continue;
      }
      if (i == measured->chosen) measured->chosen = kernels.size();
      kernels.push_back(std::move(kernel));
    }
    measured->kernels = std::move(kernels);
  }

  Contestant At(size_t i) const {
    return {.name = std::to_string(i),
            .run = [run = runs[i].get()] { run->Run(); }};
  }

  std::vector<std::unique_ptr<KernelRun>> runs;
};

void RaceAll(const Runs& runs, double seconds, RegretCase* measured) {
  std::vector<Contestant> all;
  for (size_t i = 0; i < runs.runs.size(); ++i) {
    all.push_back(runs.At(i));
  }
  RaceOptions options;
  options.budget_seconds = seconds;
  options.max_rounds = 51;
  options.interval = 0.02;
  options.give_up_ratio = 3;
  const RaceResult first = Race(all, options);
  for (size_t i = 0; i < all.size(); ++i) {
    measured->kernels[i].timing = first.timings[i];
  }
  const auto winner = static_cast<size_t>(std::max(first.winner, 0));
  if (winner == measured->chosen || measured->regret() < 1.02) return;
  // Measures both kernels of the figure again, with more rounds.
  const Contestant both[] = {all[winner], all[measured->chosen]};
  options.give_up_ratio = 0;
  options.min_rounds = 9;
  options.interval = 0.01;
  const RaceResult second = Race(both, options);
  if (second.timings[0].rounds == 0 || second.timings[1].rounds == 0) return;
  measured->kernels[winner].timing = second.timings[0];
  measured->kernels[measured->chosen].timing = second.timings[1];
}

PreparedOp Choose(const CorpusCase& drawn, int threads) {
  CandidateLister lister(Registry::Global(), CPUPlace(), threads);
  PreparedOp op;
  static_cast<OpFacts&>(op) = drawn.facts;
  ChooseKernel(&lister, threads, &op);
  return op;
}

RegretCase Decide(const CorpusCase& drawn, int threads) {
  const PreparedOp op = Choose(drawn, threads);
  RegretCase decided;
  decided.network = drawn.network;
  decided.op = drawn.facts.desc.type;
  decided.signature = op.list->signature;
  decided.threads = threads;
  for (size_t i = 0; i < op.list->candidates.size(); ++i) {
    const Candidate& candidate = op.list->candidates[i];
    if (!candidate.refusal.empty()) continue;
    if (static_cast<int>(i) == op.chosen) {
      decided.chosen = decided.kernels.size();
    }
    const KernelQuery query = drawn.facts.QueryAt(candidate.place);
    decided.kernels.push_back({.kernel = candidate.kernel,
                               .predicted = candidate.seconds,
                               .work = candidate.kernel->estimate == nullptr
                                           ? DefaultKernelWork(query)
                                           : candidate.kernel->estimate(query),
                               .timing = {}});
  }
  return decided;
}

}  // namespace

double RegretKernel::seconds() const {
  if (timing.rounds > 0) return timing.median;
  return timing.samples.empty() ? std::numeric_limits<double>::infinity()
                                : timing.samples.front();
}

double RegretCase::regret() const {
  double best = kernels[chosen].seconds();
  for (const RegretKernel& kernel : kernels) {
    best = std::min(best, kernel.seconds());
  }
  return std::isfinite(best) ? kernels[chosen].seconds() / best : 1;
}

Regrets Summarize(std::span<const RegretCase> cases) {
  if (cases.empty()) return {};
  std::vector<double> regrets;
  double logarithms = 0;
  for (const RegretCase& measured : cases) {
    regrets.push_back(measured.regret());
    logarithms += std::log(regrets.back());
  }
  std::sort(regrets.begin(), regrets.end());
  const size_t count = regrets.size();
  return {.mean = std::exp(logarithms / static_cast<double>(count)),
          .percentile_90 = regrets[(count * 9 + 9) / 10 - 1],
          .max = regrets.back()};
}

std::vector<RegretCase> MeasureRegrets(std::span<const CorpusCase> corpus,
                                       int threads,
                                       double race_seconds) {
  std::vector<RegretCase> cases;
  for (const CorpusCase& drawn : corpus) {
    RegretCase measured = Decide(drawn, threads);
    if (measured.kernels.size() < 2) continue;
    if (race_seconds > 0) {
      const IsolatedOp op = WithValues(drawn);
      const Runs runs(op, &measured);
      if (measured.kernels.size() < 2) continue;
      RaceAll(runs, race_seconds, &measured);
    }
    cases.push_back(std::move(measured));
  }
  return cases;
}

// Tune also gives long kernels the unused time of the others.
constexpr double kMostSeconds = 5;

void TuneCorpus(std::span<const CorpusCase> corpus,
                int threads,
                double seconds) {
  for (const CorpusCase& drawn : corpus) {
    const PreparedOp op = Choose(drawn, threads);
    Decision decision;
    decision.op = drawn.facts.desc.type;
    decision.kernel = op.choice().kernel;
    decision.list = op.list;
    const IsolatedOp isolated = WithValues(drawn);
    SignatureTuner tuner(isolated, decision, threads,
                         std::numeric_limits<double>::infinity());
    RecordStore::Default().Add(
        RecordsOf(tuner.Run(seconds, kMostSeconds), threads));
  }
}

namespace {

// A field of a CSV file (RFC 4180).
std::string Quoted(const std::string& text) {
  std::ostringstream quoted;
  quoted << std::quoted(text, '"', '"');
  return quoted.str();
}

}  // namespace

void WriteCsv(std::span<const RegretCase> cases, const std::string& path) {
  std::ofstream file(path);
  file << "case,network,op,signature,threads,kernel,chosen,seconds,best,low,"
          "high,"
          "rounds,predicted,flops,bytes,extra_bytes,library_calls,"
          "parallel_loops,max_threads\n";
  for (size_t i = 0; i < cases.size(); ++i) {
    const RegretCase& measured = cases[i];
    for (size_t k = 0; k < measured.kernels.size(); ++k) {
      const RegretKernel& kernel = measured.kernels[k];
      file << Format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", i,
          measured.network, measured.op, Quoted(measured.signature),
          measured.threads, Quoted(ToString(*kernel.kernel)),
          k == measured.chosen ? 1 : 0, kernel.seconds(), kernel.timing.best,
          kernel.timing.low, kernel.timing.high, kernel.timing.rounds,
          kernel.predicted, kernel.work.flops, kernel.work.bytes,
          kernel.work.extra_bytes, kernel.work.library_calls,
          kernel.work.parallel_loops, kernel.work.max_threads);
    }
  }
}

}  // namespace sluice::bench
