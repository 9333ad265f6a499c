#include "sluice/laboratory/bisect/bisect.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/laboratory/bisect/bisect_search.h"
#include "sluice/laboratory/bisect/golden_values.h"
#include "sluice/laboratory/bisect/plan_slice.h"
#include "sluice/laboratory/bisect/plan_units.h"
#include "sluice/laboratory/bisect/slice_trial.h"
#include "sluice/laboratory/bisect/unit_text.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

ProgramPart PartOf(const PlanPair& pair,
                   const GoldenValues& golden,
                   PlanSlice::Side side,
                   size_t begin,
                   size_t end) {
  PlanSlice slice(pair, side, begin, end, golden);
  ProgramPart part;
  part.program = slice.program();
  part.feeds = slice.feeds();
  part.fetches = slice.fetches();
  for (const std::string& name : slice.scope().LocalVarNames()) {
    part.parameters.emplace_back(name,
                                 *slice.scope().FindVar(name)->Get<Tensor>());
  }
  for (const std::string& fetch : part.fetches) {
    const ProgramValue& value = slice.ValueOf(fetch);
    part.values.emplace_back(value.var, value.channels_last);
  }
  return part;
}

constexpr int kTurns = 5;  // a median of fewer shows nothing

class Bisection {
 public:
  Bisection(const PlanPair& pair,
            const Feeds& feeds,
            const BisectOptions& options,
            const Scope* scope)
      : pair_(pair),
        feeds_(feeds),
        options_(options),
        scope_(scope),
        tolerance_{options.relative_tolerance, options.absolute_tolerance},
        golden_(pair, feeds, scope) {
    for (size_t unit = 0; unit < pair.units().size(); ++unit) {
      if (!pair.units()[unit].same) suspects_.push_back(unit);
    }
    result_.what = options.what;
    result_.ops = static_cast<int>(pair.a().ops().size());
    result_.suspects = static_cast<int>(suspects_.size());
    result_.runs = 1;
  }

  BisectResult Run() {
    RangeSearch search;
    search.suspects = suspects_.size();
    search.most_trials = options_.most_runs - result_.runs;
    if (options_.what == BisectFor::kTime) {
      if (!WholePlansDiffer()) return std::move(result_);
      search.ordered = false;
      search.attempt = [this](size_t b, size_t e) { return TryTimes(b, e); };
    } else {
      search.attempt = [this](size_t b, size_t e) { return TryResults(b, e); };
    }
    const RangeSearchResult found = Search(search);
    result_.runs += found.trials;
    result_.complete = found.complete;
    for (const FoundRange& range : found.found) {
      AddFinding(range);
    }
    return std::move(result_);
  }

 private:
  // Suspects [begin, end) cover units [Begin(begin), End(end)), gaps included.
  size_t Begin(size_t suspect) const { return suspects_[suspect]; }
  size_t End(size_t suspect) const { return suspects_[suspect - 1] + 1; }

  // The suspect at `unit`, or the last one before.
  size_t SuspectBefore(size_t unit) const {
    const auto next =
        std::upper_bound(suspects_.begin(), suspects_.end(), unit);
    return static_cast<size_t>(next - suspects_.begin()) - 1;
  }

  SliceTrial TryUnits(size_t begin, size_t end) {
    PlanSlice slice(pair_, PlanSlice::Side::kB, Begin(begin), End(end),
                    golden_);
    if (slice.empty()) return {};
    return TrySlice(pair_, golden_, slice, tolerance_);
  }

  RangeTrial TryResults(size_t begin, size_t end) {
    const SliceTrial trial = TryUnits(begin, end);
    RangeTrial range{.differs = trial.differs};
    if (trial.unit) range.suspect = SuspectBefore(*trial.unit);
    return range;
  }

  bool WholePlansDiffer() {
    ++result_.runs;
    Scope copies[2];
    std::vector<Contestant> contestants;
    for (const Plan* plan : {&pair_.a(), &pair_.b()}) {
      Scope* scope = &copies[contestants.size()];
      contestants.push_back(
          {.name = contestants.empty() ? "A" : "B",
           .run = [this, plan, scope] { plan->Run(feeds_, scope); },
           .before = [this, plan,
                      scope] { CopyPersistables(*plan, scope_, scope); }});
    }
    RaceResult race = RaceOf(contestants);
    SLUICE_ENFORCE(!late_, ErrorCode::kInvalidArgument, "bisect.budget",
                   "bisect: a budget of {:.3g} seconds is not enough: A was "
                   "timed {} times, "
                   "and B {} times, of {}",
                   options_.budget_seconds, race.timings[0].rounds,
                   race.timings[1].rounds, kTurns);
    const bool apart = Apart(PairedRatio(race.timings[1], race.timings[0]));
    result_.time_a = std::move(race.timings[0]);
    result_.time_b = std::move(race.timings[1]);
    return apart;
  }

  // Raises what a contestant raised, and notes when the budget is used up.
  RaceResult RaceOf(const std::vector<Contestant>& contestants) {
    // The first runs load code and start threads, so they are not timed.
    for (int run = 0; run < 2; ++run) {
      for (const Contestant& contestant : contestants) {
        if (contestant.before) contestant.before();
        contestant.run();
      }
    }
    RaceOptions options;
    const double left = end_ - ClockSeconds();
    options.least_seconds = std::max(left, 1e-9);
    options.budget_seconds =
        std::min(options_.race_seconds, options.least_seconds);
    options.min_rounds = kTurns;
    options.max_rounds = 301;
    options.cancelled = &CancelRequested;
    RaceResult race = Race(contestants, options);
    for (size_t i = 0; i < contestants.size(); ++i) {
      const Timing& timing = race.timings[i];
      SLUICE_ENFORCE(timing.outcome != RaceOutcome::kThrew,
                     ErrorCode::kInternal, "bisect.raised",
                     "a kernel raised while it was timed: {}", timing.error);
      late_ = late_ || timing.rounds < kTurns;
    }
    return race;
  }

  struct SliceRace {
    Timing a;
    Timing b;
    Interval b_over_a;
  };

  SliceRace RaceUnits(size_t begin, size_t end) {
    PlanSlice a(pair_, PlanSlice::Side::kA, Begin(begin), End(end), golden_);
    PlanSlice b(pair_, PlanSlice::Side::kB, Begin(begin), End(end), golden_);
    std::vector<Contestant> contestants;
    for (PlanSlice* slice : {&a, &b}) {
      contestants.push_back(
          {.name = contestants.empty() ? "A" : "B", .run = [slice] {
             if (slice->empty()) return;
             slice->plan()->Run(slice->feeds(), &slice->scope());
           }});
    }
    const RaceResult race = RaceOf(contestants);
    return {race.timings[0], race.timings[1],
            PairedRatio(race.timings[1], race.timings[0])};
  }

  RangeTrial TryTimes(size_t begin, size_t end) {
    const SliceRace race = RaceUnits(begin, end);
    if (late_) return {.tried = false};
    const double difference = std::abs(race.b.median - race.a.median);
    const double whole =
        std::abs(result_.time_b.median - result_.time_a.median);
    RangeTrial trial;
    trial.differs =
        Apart(race.b_over_a) && difference >= options_.least_share * whole;
    if (trial.differs && end - begin > 1) trial.suspect = Slowest(begin, end);
    return trial;
  }

  // The suspect whose time differs most, op by op: a guess to be checked.
  std::optional<size_t> Slowest(size_t begin, size_t end);

  void AddFinding(const FoundRange& range) {
    BisectFinding finding;
    finding.together = range.end - range.begin > 1;
    std::vector<int> a, b;
    for (size_t suspect = range.begin; suspect < range.end; ++suspect) {
      const PlanUnit& unit = pair_.units()[suspects_[suspect]];
      a.insert(a.end(), unit.a.begin(), unit.a.end());
      b.insert(b.end(), unit.b.begin(), unit.b.end());
    }
    UnitText text = TextOf(pair_, a, b);
    finding.ops = std::move(text.ops);
    finding.kernels_a = std::move(text.kernels_a);
    finding.kernels_b = std::move(text.kernels_b);
    if (options_.what == BisectFor::kTime) {
      late_ = false;
      end_ = std::max(end_, ClockSeconds() + 2 * options_.race_seconds);
      SliceRace race = RaceUnits(range.begin, range.end);
      ++result_.runs;
      result_.complete = result_.complete && !late_;
      if (late_ || !Apart(race.b_over_a)) return;  // it was noise
      finding.time_a = std::move(race.a);
      finding.time_b = std::move(race.b);
      finding.b_over_a = race.b_over_a;
    } else {
      const SliceTrial trial = TryUnits(range.begin, range.end);
      finding.value = trial.value;
      finding.difference = trial.difference;
      finding.message = MessageOf(trial);
    }
    const size_t first = Begin(range.begin);
    const size_t last = End(range.end);
    finding.a = PartOf(pair_, golden_, PlanSlice::Side::kA, first, last);
    finding.b = PartOf(pair_, golden_, PlanSlice::Side::kB, first, last);
    result_.findings.push_back(std::move(finding));
  }

  std::string MessageOf(const SliceTrial& trial) const {
    std::string text;
    if (trial.difference.element >= 0) {
      const Tensor* golden =
          golden_.BeforeInB(pair_.units().size(), trial.value);
      const bool in_a = pair_.IsShared({trial.value});
      text = Format("{}{} {} {:.6g} {} {:.6g}{}", trial.value,
                    IndexText(golden->dims(), trial.difference.element),
                    in_a ? "is" : "that only B computes should be",
                    trial.difference.a, in_a ? "under A and" : "and is",
                    trial.difference.b, in_a ? " under B" : "");
    } else if (!trial.value.empty()) {
      text = Format("{} has another shape or dtype", trial.value);
    }
    if (trial.message.empty()) return text;
    return text.empty() ? "B " + trial.message : text + "; " + trial.message;
  }

  const PlanPair& pair_;
  const Feeds& feeds_;
  const BisectOptions& options_;
  const Scope* scope_;
  const ValueTolerance tolerance_;
  GoldenValues golden_;
  std::vector<size_t> suspects_;                           // units
  double end_ = ClockSeconds() + options_.budget_seconds;  // of races
  bool late_ = false;  // the budget ended within a race
  BisectResult result_;
};

std::optional<size_t> Bisection::Slowest(size_t begin, size_t end) {
  PlanSlice a(pair_, PlanSlice::Side::kA, Begin(begin), End(end), golden_);
  PlanSlice b(pair_, PlanSlice::Side::kB, Begin(begin), End(end), golden_);
  if (a.empty() || b.empty()) return std::nullopt;
  const ProfiledPlan plans[] = {{a.plan().get(), &a.feeds(), &a.scope()},
                                {b.plan().get(), &b.feeds(), &b.scope()}};
  const auto profiles =
      ProfileTogether(plans, {.budget_seconds = options_.race_seconds});
  std::vector<double> seconds(end - begin);
  for (const PlanSlice* slice : {&a, &b}) {
    const double sign = slice == &a ? -1 : 1;
    const auto& by_op = profiles[slice == &a ? 0 : 1].ops;
    for (size_t op = 0; op < by_op.size(); ++op) {
      const size_t unit = slice->unit_of_op()[op];
      if (pair_.units()[unit].same) continue;
      seconds[SuspectBefore(unit) - begin] += sign * by_op[op].median;
    }
  }
  const auto largest = std::max_element(
      seconds.begin(), seconds.end(),
      [](double x, double y) { return std::abs(x) < std::abs(y); });
  return begin + static_cast<size_t>(largest - seconds.begin());
}

}  // namespace

BisectResult Bisect(const Program& program,
                    const Feeds& feeds,
                    const Fetches& fetches,
                    std::string_view hints_a,
                    std::string_view hints_b,
                    const BisectOptions& options,
                    const Scope* scope) try {
  const auto a = PrepareWith(program, feeds, fetches, hints_a, options.place);
  const auto b = PrepareWith(program, feeds, fetches, hints_b, options.place);
  const PlanPair pair(program, *a, *b);
  return Bisection(pair, feeds, options, scope).Run();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

namespace {

std::string FindingText(const BisectFinding& finding, BisectFor what) {
  std::string text = Wrapped(Format(
      "{}{}: {} under A, {} under B", finding.together ? "only together: " : "",
      finding.ops, finding.kernels_a, finding.kernels_b));
  if (what == BisectFor::kTime) {
    return text + Format("  {} under A, {} under B: {}\n",
                         TimeText(finding.time_a), TimeText(finding.time_b),
                         RatioText(finding.b_over_a));
  }
  if (!finding.message.empty()) text += Wrapped(finding.message, 2, 4);
  if (finding.difference.absolute > 0) {
    text += Format("  largest difference {:.3g}, relative {:.3g}",
                   finding.difference.absolute, finding.difference.relative);
    if (std::isfinite(finding.difference.over_bound)) {
      text += Format(", {:.3g} times what is allowed",
                     finding.difference.over_bound);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string ToString(const BisectResult& result) try {
  const bool times = result.what == BisectFor::kTime;
  std::string text =
      Format("{} of {} ops {} other kernels; {} {} needed\n", result.suspects,
             result.ops, result.suspects == 1 ? "uses" : "use", result.runs,
             result.runs == 1 ? "run" : "runs");
  if (times) {
    text += Format("A takes {}, B {}\n", TimeText(result.time_a),
                   TimeText(result.time_b));
  }
  for (const BisectFinding& finding : result.findings) {
    text += FindingText(finding, result.what);
  }
  if (result.findings.empty()) {
    text += times ? "no part differs in time beyond its interval\n"
                  : "no part differs beyond rounding\n";
  }
  if (!result.complete) {
    text += "the search was not finished: more runs, or a larger budget\n";
  }
  return text;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
