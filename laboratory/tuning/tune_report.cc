#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/laboratory/tuning/tune.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Seconds of one call of the plan's kernel before tuning, and after; 0 if not
// measured.
double Before(const TunedSignature& tuned) {
  return tuned.before < 0 ? 0 : tuned.kernels[tuned.before].timing.median;
}
double After(const TunedSignature& tuned) {
  return tuned.winner < 0 ? 0 : tuned.kernels[tuned.winner].timing.median;
}

std::string Gain(double before, double after) {
  const std::string times =
      Format("{} -> {}", TimeText(before), TimeText(after));
  return after <= 0 ? times
                    : Format("{}, {}", times, RatioText(after / before));
}

std::vector<size_t> FastestFirst(const std::vector<TunedKernel>& kernels) {
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto seconds = [&](size_t i) {
    const Timing& timing = kernels[i].timing;
    return timing.rounds == 0 ? std::numeric_limits<double>::infinity()
                              : timing.median;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds(a) < seconds(b); });
  return order;
}

std::string WhyLeftOut(const TuneResult& result, int left_out) {
  if (result.cancelled) return "";
  if (result.disturbed == 0) return " for want of time";
  return Format(
      ", {} of them since other programs had the CPUs that kernels waited for: "
      "tune again when the machine is quiet",
      result.disturbed == left_out ? "all" : std::to_string(result.disturbed));
}

std::string Name(const TunedSignature& tuned, int index) {
  if (index < 0) return "?";
  const TunedKernel& kernel = tuned.kernels[index];
  return KernelName(*kernel.kernel, kernel.place);
}

// How a tie is told whose medians may be far apart on a busy machine.
std::string_view TieText(double before, double after) {
  const bool close = after < 1.1 * before && before < 1.1 * after;
  return close ? "a tie" : "within noise";
}

bool Changes(const TunedSignature& tuned) {
  return tuned.winner >= 0 && tuned.winner != tuned.before;
}

std::string Decided(const TunedSignature& tuned) {
  if (tuned.disturbed) {
    return "no times are kept: kernels waited for CPUs that other programs had";
  }
  if (!tuned.has_reference) {
    return "not measured: the op has no plain kernel to compare others with";
  }
  if (tuned.winner < 0) {
    return tuned.complete ? "not measured: no kernel is right"
                          : "not measured: the budget ended before five rounds "
                            "of each kernel";
  }
  const std::string now = Name(tuned, tuned.winner);
  const double before = Before(tuned);
  std::string text = !Changes(tuned) ? "stays with " + now
                     : before > 0
                         ? Format("{} -> {}, {}", Name(tuned, tuned.before),
                                  now, Gain(before, After(tuned)))
                         : Format("{} -> {}", Name(tuned, tuned.before), now);
  return tuned.tie ? Format("{} ({})", text, TieText(before, After(tuned)))
                   : text;
}

std::string KernelTable(const TunedSignature& tuned) {
  std::vector<std::vector<std::string>> rows;
  std::string messages;
  for (const size_t i : FastestFirst(tuned.kernels)) {
    const TunedKernel& kernel = tuned.kernels[i];
    const Timing& timing = kernel.timing;
    const int index = static_cast<int>(i);
    const std::string name = Name(tuned, index);
    const bool timed = timing.rounds > 0;
    rows.push_back(
        {Format("  {}{}", index == tuned.winner ? '*' : ' ',
                index == tuned.before ? '<' : ' '),
         name, timed ? TimeText(timing.median) : "-",
         !timed                        ? ""
         : timing.rounds == 1          ? "1 call, far too slow"
         : timing.rounds < kLeastTurns ? Format("{} rounds only", timing.rounds)
                                       : RangeText(timing.low, timing.high),
         timed && !IsEmulated(kernel.place)
             ? PredictionText(kernel.predicted_seconds, kernel.evidence)
             : ""});
    if (kernel.message.empty()) continue;
    messages +=
        Wrapped(Format("{}{}: {}", name,
                       kernel.verdict == Verdict::kWrong ? " WRONG" : "",
                       kernel.message),
                4, 6);
  }
  if (rows.empty()) return "";
  TextTable table("<<><<", std::move(rows[0]));
  for (size_t i = 1; i < rows.size(); ++i) {
    table.Add(std::move(rows[i]));
  }
  return table.Text() + messages;
}

std::string AllText(const TuneResult& result) {
  std::string text =
      "* runs now, < ran before; median, 95 % interval, and what was "
      "expected\n";
  for (const TunedSignature& tuned : result.signatures) {
    const std::string more =
        tuned.ops == 1 ? "" : Format(" and {} more", tuned.ops - 1);
    text += "\n" + Wrapped(Format("op {}{}: {}", tuned.op_index, more,
                                  tuned.signature),
                           0, 4);
    text += Wrapped(Decided(tuned), 2, 4) + KernelTable(tuned);
  }
  return text + "\n";
}

void AddChanges(const TuneResult& result, ExplainTable* report) {
  double longest = 0;
  for (const TunedSignature& tuned : result.signatures) {
    if (!Changes(tuned)) continue;
    longest = std::max({longest, Before(tuned), After(tuned)});
  }
  const TimeUnit unit(longest);
  std::vector<ExplainLine> wrong;
  for (const TunedSignature& tuned : result.signatures) {
    for (const TunedKernel& kernel : tuned.kernels) {
      if (kernel.verdict != Verdict::kWrong) continue;
      wrong.push_back({Format("WRONG {} on {}: {}", *kernel.kernel,
                              tuned.signature, kernel.message),
                       Emphasis::kBad});
    }
    if (!Changes(tuned)) continue;
    const double before = Before(tuned);
    const double after = After(tuned);
    report->rows.push_back(
        {{std::to_string(tuned.op_index),
          Format("{}{}{}", tuned.name,
                 tuned.ops == 1 ? "" : Format(" x{}", tuned.ops),
                 tuned.plan > 0 ? " apart" : ""),
          Name(tuned, tuned.before), Name(tuned, tuned.winner),
          unit.Cell(before), unit.Cell(after),
          !(before > 0 && after > 0) ? ""
          : tuned.tie                ? std::string(TieText(before, after))
                                     : Format("{:.3g}x", before / after)},
         Emphasis::kNone,
         tuned.op_index});
  }
  if (!report->rows.empty()) {
    report->columns = {{"#", true},
                       {"op"},
                       {"before"},
                       {"now"},
                       {Format("{} before", unit.name()), true},
                       {Format("{} now", unit.name()), true},
                       {"faster", true}};
    report->foot.push_back(WholeLine(""));
  }
  std::ranges::move(wrong, std::back_inserter(report->foot));
}

// How many signatures get another kernel, and what that gains for one run.
void AddTotal(const TuneResult& result, ExplainTable* report) {
  double before = 0;
  double after = 0;
  size_t stay = 0;
  for (const TunedSignature& tuned : result.signatures) {
    if (tuned.winner >= 0 && !Changes(tuned)) ++stay;
    if (tuned.plan > 0 || Before(tuned) <= 0 || After(tuned) <= 0) continue;
    before += tuned.ops * Before(tuned);
    after += tuned.ops * (tuned.tie ? Before(tuned) : After(tuned));
  }
  const size_t count = result.signatures.size();
  if (count == 0) return;
  const auto change = std::ranges::count_if(result.signatures, &Changes);
  std::string text =
      Format("{} of {} {} another kernel, {} stay", change,
             Counted(count, "signature"), change == 1 ? "gets" : "get", stay);
  const size_t neither = count - static_cast<size_t>(change) - stay;
  if (neither > 0) text += Format(", {} not measured", neither);
  report->head.push_back(WholeLine(std::move(text)));
  if (after > 0) {
    report->head.push_back({Format("kernels by themselves, where timed: {}",
                                   Gain(before, after))});
  }
}

// The whole plan before and after, and whether that is kept.
void AddRuns(const TuneResult& result, ExplainTable* report) {
  const ShownTimes& before = result.run_before;
  const ShownTimes& after = result.run_after;
  if (before.run.rounds == 0 || after.run.rounds == 0) return;
  const Interval ratio = PairedRatio(after.run, before.run);
  const std::string said =
      ComparedText("the new plan is ", ratio, after.run, before.run);
  const auto line = [](const char* when, const ShownTimes& shown) {
    const std::string none = shown.WhyNoOps();
    return ExplainLine{
        Format("a run {}: {}{}", when, shown.RunText(),
               none.empty() ? ", ops " + TimeText(shown.ops) : "; " + none)};
  };
  const std::string_view kept =
      result.withdrawn ? "WITHDRAWN, the old plan stays"
      : ratio.low > 1  ? "kept, not being certainly more than 2 % slower"
                       : "the new plan is kept";
  report->head.push_back(line("before", before));
  report->head.push_back(line("after", after));
  report->head.push_back({Format("{}: {}", said, kept)});
}

// What was measured, and what was not.
std::string MeasuredText(const TuneResult& result) {
  size_t measured = 0;
  int others = 0, wrong = 0, partly = 0, late = 0;
  for (const TunedSignature& tuned : result.signatures) {
    if (tuned.winner >= 0) {
      ++measured;
      if (!tuned.complete) ++partly;
    } else {
      ++(!tuned.has_reference ? others : tuned.complete ? wrong : late);
    }
  }
  // Also those that were not reached.
  const int left_out = std::max(result.left_out - partly, late);
  std::string text = Format("{} measured in {}, {} known already",
                            Counted(measured, "signature"),
                            TimeText(result.seconds), result.known);
  if (others > 0) text += Format(", {} without a plain kernel", others);
  if (wrong > 0) text += Format(", {} without a right kernel", wrong);
  if (partly > 0) text += Format(", {} not with all kernels", partly);
  if (left_out > 0) {
    text += Format(", {} left out{}", left_out, WhyLeftOut(result, left_out));
  }
  return text + (result.cancelled ? "; cancelled" : "");
}

}  // namespace

ExplainTable MakeTable(const TuneResult& result) {
  ExplainTable report;
  AddTotal(result, &report);
  AddRuns(result, &report);
  AddChanges(result, &report);
  report.foot.push_back({MeasuredText(result)});
  if (!result.signatures.empty()) {
    report.foot.push_back(
        WholeLine(Format("all kernels and times: {}", ShowAll())));
  }
  return report;
}

std::string ToString(const TuneResult& result, bool all) {
  if (!all) return ReportText(MakeTable(result));
  ExplainTable report;
  AddTotal(result, &report);
  AddRuns(result, &report);
  return ReportText(report) + "\n" + AllText(result) +
         Wrapped(MeasuredText(result));
}

}  // namespace sluice
