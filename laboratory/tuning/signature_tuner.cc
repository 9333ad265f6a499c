#include "sluice/laboratory/tuning/signature_tuner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sluice/framework/choice/op_threads.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/tuning/verify.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Races for `budget` seconds or five rounds, and again until `end` on
// ClockSeconds() while the contestants waited for CPUs: other programs may need
// them for a moment only.
RaceResult RaceUntilUndisturbed(const std::vector<Contestant>& contestants,
                                std::span<const double> estimates,
                                double budget,
                                double end) {
  RaceOptions options;
  options.budget_seconds = budget;
  options.least_seconds = end - ClockSeconds();
  options.min_rounds = 5;
  options.max_rounds = contestants.size() == 1 ? 21 : 101;
  options.interval = 0.02;
  options.give_up_ratio = 1.3;
  options.cancelled = &CancelRequested;
  RaceResult race = Race(contestants, options);
  while (WaitedForCpus(race, estimates) && !CancelRequested() &&
         ClockSeconds() + race.seconds < end) {
    options.budget_seconds = options.least_seconds = end - ClockSeconds();
    race = Race(contestants, options);
  }
  return race;
}

// Sets the verdict of a kernel that raised in the race. A cancelled call says
// nothing about the kernel.
void NoteWhatItRaised(const Timing& timing, TunedKernel* tuned) {
  if (timing.outcome != RaceOutcome::kThrew) return;
  if (CancelRequested()) {
    tuned->verdict = Verdict::kUnchecked;
    return;
  }
  tuned->verdict = Verdict::kWrong;
  tuned->message = Format("it raised \"{}\" when it ran again", timing.error);
}

}  // namespace

SignatureTuner::SignatureTuner(const IsolatedOp& op,
                               const Decision& decision,
                               int num_threads,
                               double deadline,
                               const TuneOptions& options)
    : op_(op),
      decision_(decision),
      num_threads_(num_threads),
      deadline_(deadline),
      before_kernel_(options.before_kernel) {
  result_.op_index = decision.op_index;
  result_.op = decision.op;
  result_.name = NameOf(decision);
  result_.signature = decision.list->signature;
}

TunedSignature SignatureTuner::Run(double budget, double most) {
  MakeRuns();
  CheckRuns();
  Race(budget, most);
  return std::move(result_);
}

bool SignatureTuner::HasTimeFor(double seconds) {
  if (ClockSeconds() + seconds < deadline_ && !CancelRequested()) return true;
  result_.complete = false;
  return false;
}

// Creating the runs finds kernels whose Prepare refuses and was not called yet.
void SignatureTuner::MakeRuns() {
  for (const Candidate& candidate : decision_.candidates()) {
    if (!candidate.refusal.empty()) continue;
    TunedKernel tuned;
    tuned.kernel = candidate.kernel;
    tuned.place = candidate.place;
    tuned.predicted_seconds = candidate.seconds;
    tuned.estimate = candidate.estimate;
    tuned.evidence = candidate.evidence;
    const auto note_failure = [&tuned] {
      const Verification failure = CaughtFailure();
      tuned.verdict = failure.verdict;
      tuned.message = Format("it cannot be prepared: {}", failure.message);
    };
    std::unique_ptr<KernelRun> run;
    try {
      run = std::make_unique<KernelRun>(
          op_, *candidate.kernel, candidate.place,
          ThreadsFor(op_.facts.QueryAt(candidate.place), *candidate.kernel,
                     num_threads_));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnimplemented) continue;
      note_failure();
    } catch (...) {
      note_failure();
    }
    if (candidate.kernel == decision_.kernel) {
      result_.before = static_cast<int>(result_.kernels.size());
    }
    result_.kernels.push_back(std::move(tuned));
    runs_.push_back(std::move(run));
  }
  call_seconds_.resize(runs_.size());
}

void SignatureTuner::CheckRuns() {
  const Verifier verifier(op_, Registry::Global());
  result_.has_reference = verifier.has_reference();
  if (!result_.has_reference) return;
  for (size_t i = 0; i < runs_.size(); ++i) {
    constexpr double kCalls = 3;
    TunedKernel& tuned = result_.kernels[i];
    if (runs_[i] == nullptr || !HasTimeFor(kCalls * tuned.predicted_seconds)) {
      continue;
    }
    if (before_kernel_) {
      before_kernel_(*tuned.kernel, result_.signature);
    }
    const Verification found = verifier.Check(*tuned.kernel, tuned.place,
                                              num_threads_, runs_[i].get());
    tuned.verdict = found.verdict;
    tuned.message = found.message;
    tuned.error = found.error;
    // A time that is unknown now is found by the race.
    call_seconds_[i] = found.disturbed ? 0 : found.seconds;
  }
}

// Whether the comparison (its shortest call) showed that a kernel is far too
// slow for a race.
bool SignatureTuner::IsTooSlow(size_t kernel) const {
  constexpr double kTooSlow = 3;
  double fastest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (result_.kernels[i].verdict != Verdict::kOk) continue;
    fastest = std::min(fastest, call_seconds_[i]);
  }
  // Other work may double the time of shorter calls.
  constexpr double kLongerThanNoise = 20e-3;
  return call_seconds_[kernel] > std::max(kTooSlow * fastest, kLongerThanNoise);
}

void SignatureTuner::Race(double budget, double most) {
  std::vector<Contestant> contestants;
  std::vector<size_t> kernels;
  std::vector<double> estimates;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (result_.kernels[i].verdict != Verdict::kOk || IsTooSlow(i)) continue;
    kernels.push_back(i);
    estimates.push_back(result_.kernels[i].estimate);
    contestants.push_back({.name = result_.kernels[i].kernel->variant,
                           .run = [run = runs_[i].get()] { run->Run(); },
                           .expected_seconds = call_seconds_[i]});
  }
  if (contestants.empty() || !HasTimeFor(0)) return;
  const double end =
      std::min(deadline_, ClockSeconds() + std::max(budget, most));
  const double allowed = std::min(budget, end - ClockSeconds());
  if (allowed <= 0) {
    result_.complete = false;
    return;
  }
  const RaceResult race =
      RaceUntilUndisturbed(contestants, estimates, allowed, end);
  result_.disturbed = WaitedForCpus(race, estimates);
  const bool keep = MayKeepTimes(race) && !result_.disturbed;
  if (!keep) result_.complete = false;
  for (size_t i = 0; i < kernels.size(); ++i) {
    TunedKernel& tuned = result_.kernels[kernels[i]];
    if (keep) tuned.timing = race.timings[i];
    NoteWhatItRaised(race.timings[i], &tuned);
  }
  for (size_t i = 0; keep && i < runs_.size(); ++i) {
    if (result_.kernels[i].verdict != Verdict::kOk || !IsTooSlow(i)) continue;
    Timing& timing = result_.kernels[i].timing;
    timing.samples = {call_seconds_[i]};
    Summarise(timing);
    timing.outcome = RaceOutcome::kDropped;
  }
  if (keep && race.winner >= 0) {
    result_.winner = static_cast<int>(kernels[race.winner]);
    result_.tie = race.tie;
    StayAtPlace();
  }
}

// A plan computes an op elsewhere only where its own place has no kernel.
void SignatureTuner::StayAtPlace() {
  const auto& kernels = result_.kernels;
  if (kernels[result_.winner].place == decision_.place) return;
  const TunedKernel* fastest = nullptr;
  for (const TunedKernel& kernel : kernels) {
    if (kernel.place != decision_.place || kernel.timing.rounds == 0) continue;
    if (kernel.verdict != Verdict::kOk) continue;
    if (fastest && fastest->timing.median <= kernel.timing.median) continue;
    fastest = &kernel;
  }
  if (fastest == nullptr) return;
  result_.winner = static_cast<int>(fastest - kernels.data());
  result_.tie = result_.before >= 0 && result_.before != result_.winner &&
                kernels[result_.before].timing.low <= fastest->timing.high;
}

bool MayKeepTimes(const RaceResult& race) {
  constexpr int kEnoughRounds = 5;
  constexpr int kFewRounds = 3;
  constexpr double kClear = 1.25;
  bool clear = race.winner >= 0;
  for (size_t i = 0; i < race.timings.size(); ++i) {
    const Timing& timing = race.timings[i];
    if (timing.outcome == RaceOutcome::kThrew) continue;
    if (timing.rounds == 0) return false;
    if (timing.outcome == RaceOutcome::kDropped ||
        timing.rounds >= kEnoughRounds) {
      continue;
    }
    if (timing.rounds < kFewRounds) return false;
    for (size_t j = 0; j < race.over_winner.size(); ++j) {
      const bool other = static_cast<int>(j) != race.winner &&
                         race.timings[j].outcome == RaceOutcome::kRaced;
      clear = clear && (!other || race.over_winner[j].low > kClear);
    }
    if (!clear) return false;
  }
  return true;
}

bool WaitedForCpus(const RaceResult& race, std::span<const double> estimates) {
  constexpr double kFarAbove = 10;
  for (size_t i = 0; i < race.timings.size(); ++i) {
    const Timing& timing = race.timings[i];
    if (IsDisturbed(timing) && timing.median > kFarAbove * estimates[i]) {
      return true;
    }
  }
  return false;
}

std::vector<Record> RecordsOf(const TunedSignature& tuned, int num_threads) {
  std::vector<Record> records;
  for (const TunedKernel& kernel : tuned.kernels) {
    if (kernel.verdict == Verdict::kUnchecked) continue;
    Record record;
    record.op = tuned.op;
    record.signature = tuned.signature;
    record.kernel = ToString(*kernel.kernel);
    record.kernel_version = kernel.kernel->recorded_version;
    record.threads = num_threads;
    record.place = ToString(kernel.place);
    record.verdict = kernel.verdict;
    record.message = kernel.message;
    // A time below the clock's resolution still counts as more than 0.
    const auto seconds = [&](double measured) {
      return kernel.timing.rounds == 0 ? 0 : std::max(measured, kShortestTime);
    };
    record.best = seconds(kernel.timing.best);
    record.median = seconds(kernel.timing.median);
    record.low = seconds(kernel.timing.low);
    record.high = seconds(kernel.timing.high);
    record.spread = kernel.timing.spread;
    record.rounds = kernel.timing.rounds;
    record.error = kernel.error;
    record.estimate = kernel.estimate;
    if (record.rounds == 0 && record.verdict == Verdict::kOk) continue;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace sluice
