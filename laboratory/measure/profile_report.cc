#include "sluice/laboratory/measure/profile_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr double kFarOff = 3;
constexpr size_t kMostNames = 8;

std::string FeedText(const FeedSpec& feed) {
  std::string text = feed.name;
  if (feed.dtype != DType::kFloat32) text += Format(" {}", feed.dtype);
  return text + Format(" {}", feed.dims);
}

std::string TitleOf(const Plan& plan) {
  const bool trains = std::ranges::any_of(
      plan.op_descs(),
      [](const OpDesc& op) { return op.purpose != OpPurpose::kForward; });
  std::string fed;
  for (const FeedSpec& feed : plan.feed_specs()) {
    fed += (fed.empty() ? "; fed " : ", ") + FeedText(feed);
  }
  const bool emulated =
      DeviceManager::Instance().Get(plan.place()).is_emulated();
  return Format("{}program, {}{}, {}{}", trains ? "training " : "",
                plan.place(),
                emulated ? " (emulated: times are the CPU's)" : "",
                Counted(plan.num_threads(), "thread"), fed);
}

std::string FactorText(double factor) {
  return Format("{:.{}f}x", factor, factor < 9.95 ? 1 : 0);
}

std::string PredictedText(const ProfiledCall& call, const TimeUnit& unit) {
  const double off = call.off();
  std::string time = unit.Cell(call.predicted, 2);
  if (off > kFarOff) return Format("{} ({} too low)", time, FactorText(off));
  if (off * kFarOff >= 1) return time;
  return Format("{} ({} too high)", time, FactorText(1 / off));
}

std::string ShareText(double share) {
  return share < 0.005 ? "" : Format("{:.0f} %", 100 * share);
}

std::string CallTable(const ProfileReport& report, size_t rows, double all) {
  const TimeUnit unit(report.calls.empty() ? 0 : report.calls[0].seconds);
  TextTable table("><<>>><", {"#", "op", "kernel", std::string(unit.name()),
                              "share", "so far", "predicted"});
  const bool busy = Busy(report.run);
  double so_far = 0;
  for (const ProfiledCall& call : report.calls) {
    if (table.size() == rows) break;
    so_far += call.seconds;
    table.Add({call.inserted ? "+" : std::to_string(call.number), call.op,
               call.kernel, unit.Cell(call.seconds),
               busy ? "" : ShareText(call.seconds / all),
               busy ? "" : ShareText(so_far / all), PredictedText(call, unit)});
  }
  std::string text = table.Text();
  const size_t shown = table.size();
  if (shown == report.calls.size()) return text;
  const auto begin = report.calls.begin() + static_cast<ptrdiff_t>(shown);
  const auto short_ones = std::count_if(
      begin, report.calls.end(),
      [](const ProfiledCall& call) { return call.seconds < 1e-6; });
  text +=
      Format("... {}, {}", Counted(report.calls.size() - shown, "more call"),
             TimeText(all - so_far));
  if (!busy) text += Format(", {:.0f} %", 100 * (1 - so_far / all));
  if (short_ones > 0) text += Format("; {} of them below 1 us", short_ones);
  return text + Format(": profile.top({})\n", report.calls.size());
}

std::string FarOffText(const ProfileReport& report) {
  std::string names;
  size_t count = 0;
  for (const ProfiledCall& call : report.calls) {
    const double off = call.off();
    if (off <= kFarOff && off * kFarOff >= 1) continue;
    if (count < kMostNames) names += (count > 0 ? ", " : "") + call.name();
    ++count;
  }
  if (count == 0) return "";
  if (count > kMostNames) names += Format(" and {} more", count - kMostNames);
  return "\n" + Wrapped(Format("estimates are more than 3x off for {}: {}; "
                               "sl.tune() measures them",
                               Counted(count, "call"), names));
}

}  // namespace

double ProfiledCall::off() const {
  constexpr double kLeast = 1e-6;
  const bool compares = evidence == Evidence::kEstimate && predicted > 0 &&
                        std::max(seconds, predicted) >= 2 * kLeast;
  if (!compares) return 1;
  return std::max(seconds, kLeast) / std::max(predicted, kLeast / 2);
}

std::string ProfiledCall::name() const {
  return inserted ? "+ " + op : Format("{} {}", number, op);
}

ProfileReport MakeProfileReport(const Plan& plan,
                                const RunProfile& profile) try {
  ProfileReport report{TitleOf(plan), profile.run, profile.total_seconds, {}};
  for (const PlanCall& call : CallsOf(plan)) {
    const Decision& decision = *call.decision;
    report.calls.push_back(
        {call.number, call.put_in, call.name,
         KernelName(*decision.kernel, decision.place, plan.place()),
         profile.ops[decision.op_index].median, call.seconds(),
         call.chosen->evidence});
  }
  std::ranges::stable_sort(report.calls, std::greater(),
                           &ProfiledCall::seconds);
  return report;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const ProfileReport& report, size_t rows) try {
  const double all = std::accumulate(
      report.calls.begin(), report.calls.end(), 0.0,
      [](double sum, const ProfiledCall& call) { return sum + call.seconds; });
  const Timing& run = report.run;
  const std::string took =
      run.rounds == 1
          ? TimeText(run)
          : Format("{} ({}, {})", TimeText(run.median),
                   RangeText(run.low, run.high), Counted(run.rounds, "run"));
  std::string text = Wrapped(report.title);
  text += Wrapped(Format("a run takes {}; {} {} {}, slowest first", took,
                         Counted(report.calls.size(), "call"),
                         report.calls.size() == 1 ? "takes" : "take",
                         TimeText(all)));
  const std::string busy = BusyText(run);
  if (!busy.empty()) text += Wrapped(busy + ", so shares are left out");
  return text + "\n" + CallTable(report, rows, all) + FarOffText(report);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
