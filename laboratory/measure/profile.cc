#include "sluice/laboratory/measure/profile.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "sluice/framework/inspect/run_trace.h"
#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/diagnostics/trace.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr double kConfidence = 0.95;

MedianTime MedianOf(std::vector<double>* samples) {
  std::sort(samples->begin(), samples->end());
  const Interval interval = MedianInterval(*samples, kConfidence);
  return {SortedMedian(*samples), interval.low, interval.high};
}

// Records the time of every instruction in each run.
class Stopwatch : public RunObserver {
 public:
  explicit Stopwatch(const Plan& plan)
      : plan_(plan), samples_(plan.instructions().size()) {}

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* /*tensors*/) override {
    index_ = &instruction - plan.instructions().data();
    begin_ = ClockSeconds();
  }
  void After(const Plan&, const Instruction&, const Tensor*) override {
    const double seconds = ClockSeconds() - begin_;
    samples_[index_].push_back(
        std::max(seconds - MeasureClockTraits().cost, 1e-9));
  }

  // Forgets `runs` runs: the latest, or as many before these.
  void Drop(int runs, bool latest) {
    for (std::vector<double>& samples : samples_) {
      const auto end = samples.end() - (latest ? 0 : runs);
      samples.erase(end - runs, end);
    }
  }

  // Summary of the last `rounds` runs, at least one. Earlier runs were warm-up.
  RunProfile Summary(size_t rounds) {
    RunProfile profile;
    profile.ops.resize(plan_.op_descs().size());
    if (samples_.empty()) return profile;
    const size_t kept =
        std::min(std::max<size_t>(rounds, 1), samples_[0].size());
    profile.rounds = static_cast<int>(kept);
    std::map<int, std::vector<double>> by_op;  // sums of each run
    for (size_t i = 0; i < samples_.size(); ++i) {
      std::vector<double>& samples = samples_[i];
      samples.erase(samples.begin(),
                    samples.end() - static_cast<ptrdiff_t>(kept));
      const int op_index = plan_.instructions()[i].op_index;
      if (op_index >= 0) {
        std::vector<double>& sums = by_op[op_index];
        sums.resize(kept);
        for (size_t run = 0; run < kept; ++run) {
          sums[run] += samples[run];
        }
      }
      profile.instructions.push_back(MedianOf(&samples));
      profile.begin.push_back(profile.total_seconds);
      profile.total_seconds += profile.instructions.back().median;
    }
    for (auto& [op_index, sums] : by_op) {
      profile.ops[op_index] = MedianOf(&sums);
    }
    return profile;
  }

 private:
  const Plan& plan_;
  std::vector<std::vector<double>> samples_;  // by instruction
  ptrdiff_t index_ = 0;
  double begin_ = 0;
};

// One plan of a race, with its own persistables.
class Runner {
 public:
  explicit Runner(const ProfiledPlan& plan) : plan_(plan) {}

  void Reset() { CopyPersistables(*plan_.plan, plan_.scope, &copies_); }
  void Run() { plan_.plan->Run(*plan_.feeds, &copies_); }
  void RunWith(Stopwatch& stopwatch) {
    plan_.plan->RunObserved(*plan_.feeds, &copies_, stopwatch);
  }

 private:
  const ProfiledPlan& plan_;
  Scope copies_;
};

// Runs the same number of rounds on every rank, independent of its clock.
RaceResult RunInTurn(const std::vector<Contestant>& contestants) {
  constexpr int kRounds = 15;
  RaceResult race;
  race.timings.resize(contestants.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      contestants[i].before();
      const double begin = ClockSeconds();
      contestants[i].run();
      race.timings[i].samples.push_back(ClockSeconds() - begin);
    }
  }
  for (Timing& timing : race.timings) {
    timing.outcome = RaceOutcome::kRaced;
    Summarise(timing);
  }
  race.rounds = kRounds;
  return race;
}

void RaiseWhatThrew(const RaceResult& race) {
  for (const Timing& timing : race.timings) {
    SLUICE_ENFORCE(timing.outcome != RaceOutcome::kThrew, ErrorCode::kInternal,
                   "profile.raised",
                   "a kernel raised when the program ran again: {}",
                   timing.error);
  }
}

// Runs a plan with a clock and then without. These runs load code and start
// threads, and may raise. Returns the seconds of the second one.
double SecondsOfFirstRuns(Runner* runner, Stopwatch* stopwatch) {
  runner->Reset();
  runner->RunWith(*stopwatch);
  runner->Reset();
  const double begin = ClockSeconds();
  runner->Run();
  return ClockSeconds() - begin;
}

// Appends the runs of a plan without and with a clock.
void AppendContestants(Runner* runner,
                       Stopwatch* stopwatch,
                       std::vector<Contestant>* contestants) {
  const auto reset = [runner] { runner->Reset(); };
  contestants->push_back(
      {.name = "run", .run = [runner] { runner->Run(); }, .before = reset});
  contestants->push_back(
      {.name = "run with a clock",
       .run = [runner, stopwatch] { runner->RunWith(*stopwatch); },
       .before = reset,
       .drop = [stopwatch](int runs,
                           bool latest) { stopwatch->Drop(runs, latest); }});
}

// Other processes take part in the runs: all must run equally often.
bool HasHooks(std::span<const ProfiledPlan> plans) {
  return std::any_of(plans.begin(), plans.end(), [](const ProfiledPlan& plan) {
    return !plan.plan->hooks().empty();
  });
}

RaceOptions RaceOptionsFor(std::span<const ProfiledPlan> plans,
                           const ProfileOptions& options) {
  size_t instructions = 0;
  for (const ProfiledPlan& plan : plans) {
    instructions += plan.plan->instructions().size();
  }
  RaceOptions race;
  race.budget_seconds = options.budget_seconds;
  race.min_rounds = std::min(kLeastTurns, options.max_rounds);
  race.least_seconds = options.least_seconds;
  // Limits the rounds so that the samples of a long plan fit into memory.
  const size_t most = 10'000'000 / std::max<size_t>(instructions, 1);
  race.max_rounds = std::clamp(
      static_cast<int>(std::min<size_t>(most, 100'000)), race.min_rounds,
      std::max(options.max_rounds, race.min_rounds));
  race.cancelled = &CancelRequested;
  return race;
}

// Returns the profile of a plan from its timings in the race. `first_run` is
// used if there was no time for more.
RunProfile ProfileFrom(Stopwatch* stopwatch,
                       const Timing& clocked,
                       Timing plain,
                       double first_run) {
  RunProfile profile = stopwatch->Summary(
      clocked.samples.size() * static_cast<size_t>(clocked.calls_per_round));
  profile.run = std::move(plain);
  if (profile.run.samples.empty()) {
    profile.run.samples = {first_run};
    Summarise(profile.run);
  }
  return profile;
}

}  // namespace

std::vector<RunProfile> ProfileTogether(std::span<const ProfiledPlan> plans,
                                        const ProfileOptions& options) try {
  SLUICE_ENFORCE(!plans.empty(), ErrorCode::kInvalidArgument, "profile.plans",
                 "there is no plan to measure");
  SLUICE_ENFORCE(
      options.budget_seconds > 0 && std::isfinite(options.budget_seconds),
      ErrorCode::kInvalidArgument, "profile.budget",
      "measuring a plan needs a budget of more than 0 seconds, got {}",
      options.budget_seconds);
  std::deque<Runner> runners;
  std::deque<Stopwatch> stopwatches;
  std::vector<Contestant> contestants;
  std::vector<double> first_runs;
  for (const ProfiledPlan& plan : plans) {
    Runner* runner = &runners.emplace_back(plan);
    Stopwatch* stopwatch = &stopwatches.emplace_back(*plan.plan);
    first_runs.push_back(SecondsOfFirstRuns(runner, stopwatch));
    AppendContestants(runner, stopwatch, &contestants);
  }
  RaceResult race = HasHooks(plans)
                        ? RunInTurn(contestants)
                        : Race(contestants, RaceOptionsFor(plans, options));
  RaiseWhatThrew(race);
  std::vector<RunProfile> profiles;
  for (size_t i = 0; i < plans.size(); ++i) {
    Timing& plain = race.timings[2 * i];
    const Timing& clocked = race.timings[2 * i + 1];
    profiles.push_back(
        ProfileFrom(&stopwatches[i], clocked, std::move(plain), first_runs[i]));
    profiles.back().drifted = race.drifted;
  }
  return profiles;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

ProfiledRun RunProfiled(const Plan& plan,
                        const Feeds& feeds,
                        Scope* scope,
                        const ProfileOptions& options) try {
  plan.RequireWhole("a profile");
  Scope before;
  CopyPersistables(plan, scope, &before);
  ProfiledRun run;
  run.results = plan.Run(feeds, scope);
  const ProfiledPlan measured{&plan, &feeds, &before};
  run.profile = std::move(ProfileTogether({&measured, 1}, options)[0]);
  return run;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ChromeTrace(const Plan& plan,
                        const RunProfile& profile,
                        std::string_view name,
                        const ProfiledPlan* again) try {
  const std::string program =
      name.empty() ? TracedProgram() : std::string(name);
  TraceWriter trace;
  const ShownTimes shown{profile.run, profile.total_seconds};
  const std::string none = shown.WhyNoOps();
  const int medians = trace.AddProcess(
      none.empty()
          ? Format("{}: medians of {} runs, one after another, waiting after "
                   "each step: {}; a run takes {}",
                   program, profile.rounds, TimeText(shown.ops),
                   shown.RunText())
          : Format("{}: no medians; {}", program, none));
  for (size_t i = 0; none.empty() && i < plan.instructions().size(); ++i) {
    const Instruction& instruction = plan.instructions()[i];
    const std::string queue = instruction.device < 0
                                  ? ToString(PlaceKey(CPUPlace()))
                                  : ToString(plan.queues()[instruction.device]);
    trace.Add({trace.Track(queue, medians),
               std::make_shared<TraceLabel>(LabelOf(plan, instruction)),
               static_cast<int64_t>(profile.begin[i] * 1e9),
               static_cast<int64_t>(profile.instructions[i].median * 1e9)});
  }
  if (again != nullptr) {
    const int real = trace.AddProcess(program + ": one real run");
    Scope copies;
    CopyPersistables(plan, again->scope, &copies);
    TraceLabels labels;
    RunTrace run(plan, &labels, &trace, real);
    plan.RunObserved(*again->feeds, &copies, run);
  }
  return trace.ToJson();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
