#include "sluice/laboratory/measure/profile_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "sluice/framework/inspect/explain_summary.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr double kFarOff = 3;
constexpr size_t kMostNames = 8;

std::string PredictedText(const ProfiledCall& call, const TimeUnit& unit) {
  const std::string off = call.off_text();
  const std::string time = unit.Cell(call.predicted, 2);
  return off.empty() ? time : Format("{} ({})", time, off);
}

std::string ShareText(double share) {
  return share < 0.005 ? "" : Format("{:.0f} %", 100 * share);
}

void AddCalls(const ProfileReport& report,
              size_t rows,
              double all,
              ExplainTable* table) {
  const TimeUnit unit(report.calls.empty() ? 0 : report.calls[0].seconds);
  const bool predicts = std::ranges::any_of(
      report.calls, [](const auto& call) { return call.predicted > 0; });
  table->columns = {{"#", true},
                    {"op"},
                    {"kernel"},
                    {std::string(unit.name()), true},
                    {"share", true},
                    {"so far", true},
                    {predicts ? "predicted" : ""}};
  const bool busy = Busy(report.run);
  double so_far = 0;
  for (const ProfiledCall& call : report.calls) {
    if (table->rows.size() == rows) break;
    so_far += call.seconds;
    table->rows.push_back(
        {{call.number_text(), call.op, call.kernel, unit.Cell(call.seconds),
          busy ? "" : ShareText(call.seconds / all),
          busy ? "" : ShareText(so_far / all), PredictedText(call, unit)},
         Emphasis::kNone,
         call.number});
  }
  const size_t shown = table->rows.size();
  if (shown == report.calls.size()) return;
  const auto begin = report.calls.begin() + static_cast<ptrdiff_t>(shown);
  const auto short_ones = std::count_if(
      begin, report.calls.end(),
      [](const ProfiledCall& call) { return call.seconds < 1e-6; });
  std::string text =
      Format("... {}, {}", Counted(report.calls.size() - shown, "more call"),
             TimeText(all - so_far));
  if (!busy) text += Format(", {:.0f} %", 100 * (1 - so_far / all));
  if (short_ones > 0) text += Format("; {} of them below 1 us", short_ones);
  table->foot.push_back(
      WholeLine(text + Format(": profile.top({})", report.calls.size())));
}

void AddFarOff(const ProfileReport& report, ExplainTable* table) {
  std::string names;
  size_t count = 0;
  for (const ProfiledCall& call : report.calls) {
    if (call.off_text().empty() || call.runs_blocks) continue;
    if (count < kMostNames) names += (count > 0 ? ", " : "") + call.name();
    ++count;
  }
  if (count == 0) return;
  if (count > kMostNames) names += Format(" and {} more", count - kMostNames);
  table->foot.push_back(WholeLine(""));
  table->foot.push_back(
      {Format("estimates are more than 3x off for {}: {}; tuning measures them",
              Counted(count, "call"), names)});
}

// Cuts the last cells where rows are wider than `width`.
void CutLastColumn(int width, ExplainTable* table) {
  int room = width - WidthOf(*table);
  if (room >= 0) return;
  size_t longest = 0;
  for (const ExplainRow& row : table->rows) {
    longest = std::max(longest, row.cells.back().size());
  }
  room = std::max(room + static_cast<int>(longest), 0);
  for (ExplainRow& row : table->rows) {
    row.cells.back() = CutReason(row.cells.back(), room);
  }
}

// "a run takes 200 us (198 to 203 us, 78 runs); 12 calls take 196 us".
std::string RunLine(const ProfileReport& report, std::string_view order) {
  return Format("a run takes {}; {} {} {}{}{}", report.shown().RunText(),
                Counted(report.calls.size(), "call"),
                report.calls.size() == 1 ? "takes" : "take",
                TimeText(report.shown().ops), order,
                report.emulated
                    ? "; times at emulated devices are the CPU's, and "
                      "predictions of a GPU are left out"
                    : "");
}

}  // namespace

double ProfiledCall::off() const {
  constexpr double kLeast = 1e-6;
  const bool compares = evidence == Evidence::kEstimate && predicted > 0 &&
                        std::max(seconds, predicted) >= 2 * kLeast;
  if (!compares) return 1;
  return std::max(seconds, kLeast) / std::max(predicted, kLeast / 2);
}

std::string ProfiledCall::off_text() const {
  const double factor = off();
  if (factor <= kFarOff && factor * kFarOff >= 1) return "";
  const double times = std::max(factor, 1 / factor);
  return Format("{:.{}f}x too {}", times, times < 9.95 ? 1 : 0,
                factor > 1 ? "low" : "high");
}

std::string ProfiledCall::name() const {
  return Format("{}{} {}", inserted ? "" : "#", number_text(), op);
}

std::string ProfiledCall::number_text() const {
  return Format("{}{}", inserted ? "+" : "", number);
}

ShownTimes ProfileReport::shown() const {
  return {run, std::accumulate(calls.begin(), calls.end(), 0.0,
                               [](double sum, const ProfiledCall& call) {
                                 return sum + call.seconds;
                               })};
}

std::vector<ProfiledCall> ProfiledCalls(const Plan& plan,
                                        const RunProfile& profile) {
  std::vector<ProfiledCall> calls;
  for (const PlanCall& call : CallsOf(plan)) {
    const Decision& decision = *call.decision;
    calls.push_back(
        {.number = call.number,
         .inserted = call.put_in,
         .op = call.name,
         .kernel = KernelName(*decision.kernel, decision.place, plan.place()),
         .seconds = profile.ops[decision.op_index].median,
         .predicted = IsEmulated(decision.place) ? 0 : call.seconds(),
         .why = call.why,
         .runs_blocks = decision.why.reason == Reason::kRunsBlocks,
         .evidence = call.chosen->evidence});
  }
  return calls;
}

ProfileReport MakeProfileReport(const Plan& plan,
                                const RunProfile& profile) try {
  const bool emulated = std::ranges::any_of(
      plan.decisions(),
      [](const Decision& decision) { return IsEmulated(decision.place); });
  ProfileReport report{TitleLine(Summarise(plan), {}), profile.run, emulated,
                       ProfiledCalls(plan, profile)};
  std::ranges::stable_sort(report.calls, std::greater(),
                           &ProfiledCall::seconds);
  return report;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

ExplainTable MakeTable(const ProfileReport& report, size_t rows) try {
  const ShownTimes shown = report.shown();
  ExplainTable table;
  table.head = {{report.title}, {RunLine(report, ", slowest first")}};
  if (const std::string none = shown.WhyNoOps(); !none.empty()) {
    table.head.push_back({none});
    return table;
  }
  if (Busy(report.run)) {
    table.head.push_back({"shares are left out: a busy machine"});
  }
  AddCalls(report, rows, shown.ops, &table);
  AddFarOff(report, &table);
  return table;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const ProfileReport& report, size_t rows) try {
  return ReportText(MakeTable(report, rows));
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

ExplainTable MeasuredTable(const Plan& plan,
                           const RunProfile& profile,
                           const ExplainOptions& options) try {
  const ProfileReport report = MakeProfileReport(plan, profile);
  ExplainTable table;
  table.head = {{report.title}, {RunLine(report, "")}};
  if (const std::string none = report.shown().WhyNoOps(); !none.empty()) {
    table.head.push_back({none, Emphasis::kDoubtful});
    return table;
  }
  const std::vector<ProfiledCall>& sorted = report.calls;
  const TimeUnit unit(sorted.empty() ? 0 : sorted[0].seconds);
  const bool narrow = options.width < 100;
  table.columns = {
      {"#", true},
      {"op"},
      {"kernel"},
      {Format("{} {}", narrow ? "est." : "estimate", unit.name()), true},
      {Format("actual {}", unit.name()), true},
      {"factor"},
      {"why"}};
  const bool few = !options.fold || sorted.size() <= kManyRows;
  const double least = few ? 0 : sorted[kManyRows - 1].seconds;
  for (const ProfiledCall& call : ProfiledCalls(plan, profile)) {
    if (options.op >= 0 ? call.number != options.op : call.seconds < least) {
      continue;
    }
    const std::string off = call.off_text();
    table.rows.push_back(
        {{call.number_text(), CutMiddle(call.op, narrow ? 13 : 26), call.kernel,
          unit.Cell(call.predicted, 2), unit.Cell(call.seconds),
          call.off() == 1 ? "" : TimesAsLong(call.off()), call.why},
         off.empty() ? Emphasis::kNone : Emphasis::kStrong,
         call.number});
  }
  CutLastColumn(options.width, &table);
  const size_t left_out = sorted.size() - table.rows.size();
  if (options.op < 0 && left_out > 0) {
    table.foot.push_back({Format("... {} faster calls: fold=False", left_out)});
  }
  SLUICE_ENFORCE(options.op < 0 || !table.rows.empty(), ErrorCode::kNotFound,
                 "explain.measured_op",
                 "explain: the plan does not compute op {}", options.op);
  return table;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
