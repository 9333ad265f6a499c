#include "sluice/laboratory/tuning/cost_samples.h"

#include <deque>

#include "sluice/framework/choice/candidates.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"

namespace sluice {

std::vector<CostSample> MeasureCosts(std::span<const CorpusCase> corpus,
                                     int threads,
                                     double race_seconds) {
  const MachineFigures figures = DerivedFigures(CpuInstructionSet(), threads);
  CandidateLister lister(Registry::Global(), CPUPlace(), threads);
  RaceOptions options;
  options.min_rounds = 3;
  options.max_rounds = 31;
  options.interval = 0.03;
  std::vector<CostSample> samples;
  for (const CorpusCase& drawn : corpus) {
    const IsolatedOp op = WithValues(drawn);
    const auto list = lister.List(drawn.facts);
    std::deque<KernelRun> runs;
    std::vector<const Candidate*> measured;
    std::vector<Contestant> contestants;
    for (const Candidate& candidate : list->candidates) {
      if (!candidate.refusal.empty()) continue;
      try {
        runs.emplace_back(op, *candidate.kernel, candidate.place, threads);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUnimplemented) throw;
        continue;
      }
      measured.push_back(&candidate);
      contestants.push_back({.name = candidate.kernel->variant,
                             .run = [run = &runs.back()] { run->Run(); }});
    }
    if (contestants.empty()) continue;
    options.budget_seconds =
        race_seconds * static_cast<double>(contestants.size());
    const RaceResult result = Race(contestants, options);
    for (size_t i = 0; i < measured.size(); ++i) {
      const Timing& timing = result.timings[i];
      if (timing.rounds == 0 || IsDisturbed(timing)) continue;
      const KernelWork& work = measured[i]->work;
      const DType dtype = drawn.facts.dtype;
      const std::string row = CostRow(*measured[i]->kernel, work);
      samples.push_back(
          {.row = row,
           .seconds = timing.median,
           .work = SecondsOf(work, KernelCosts::Active().Of(row, dtype), dtype,
                             figures, threads)});
    }
  }
  return samples;
}

}  // namespace sluice
