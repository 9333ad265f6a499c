#include <algorithm>
#include <cmath>
#include <functional>
#include <new>

#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/laboratory/what_if.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::string OpTime(double seconds, bool measured) {
  return Format("{} {}", TimeText(seconds, measured ? 3 : 2),
                measured ? "m" : "p");
}

bool IsAffected(const PlacedOp& op) {
  return op.changes || op.seconds_then != op.seconds_now;
}

// The ops whose times by themselves are furthest from those in a run.
std::string FurthestOff(const Placement& placement) {
  std::vector<PlacedOp> ops;
  for (const PlacedOp& op : placement.ops) {
    const bool far = op.seconds_now > 0 && op.seconds_in_run > 0 &&
                     Contradict(op.seconds_now, op.seconds_in_run);
    if (far) ops.push_back(op);
  }
  std::ranges::stable_sort(ops, std::greater(), [](const PlacedOp& op) {
    return std::abs(op.seconds_now - op.seconds_in_run);
  });
  if (ops.size() > 3) ops.resize(3);
  std::string text;
  for (const PlacedOp& op : ops) {
    text += Format("{}#{} {} {} {}, in a run {}",
                   text.empty() ? "furthest off: " : "; ", op.op_index, op.op,
                   op.measured_now ? "by itself" : "estimated",
                   TimeText(op.seconds_now, op.measured_now ? 3 : 2),
                   TimeText(op.seconds_in_run));
  }
  return text;
}

std::string ContradictionOf(const Timing& measured,
                            double predicted,
                            std::string_view which) {
  if (measured.rounds == 0 || !Contradict(measured.median, predicted)) {
    return "";
  }
  const double ratio = measured.median / predicted;
  return Format(
      "no prediction: a run {} would take {} by its parts, and takes {} "
      "measured, {:.3g} times apart",
      which, TimeText(predicted), TimeText(measured),
      std::max(ratio, 1 / ratio));
}

// Why there is no prediction; no lines if there is one.
std::vector<ExplainLine> ContradictionLines(const Placement& placement) {
  const std::string now =
      ContradictionOf(placement.measured_now, placement.predicted_now, "now");
  const std::string then = ContradictionOf(
      placement.measured_then, placement.predicted_then, "with the change");
  std::vector<ExplainLine> lines;
  if (now.empty() && then.empty()) return lines;
  const std::string far = now.empty() ? "" : FurthestOff(placement);
  for (const std::string& line : {now, then, far}) {
    if (!line.empty()) lines.push_back({line});
  }
  lines.push_back(WholeLine(
      "measure again when nothing else runs, or with a larger budget"));
  return lines;
}

// "27.4 ms (...) now, predicted 1.46 times as long".
std::string MeasuredText(const Timing& measured,
                         double predicted,
                         std::string_view which) {
  const double ratio = predicted / measured.median;
  const bool inside = measured.low <= predicted && predicted <= measured.high;
  return Format("{} {}{}", TimeText(measured), which,
                inside || std::abs(ratio - 1) < 0.05
                    ? ""
                    : " (predicted " + RatioText(ratio) + ")");
}

std::string Copies(double seconds) {
  return seconds > 0 ? TimeText(seconds, 2) + " of copies" : "";
}

std::vector<ExplainLine> Totals(const Placement& placement) {
  const std::string copies = Copies(placement.copies_now);
  const std::string copies_then = Copies(placement.copies_then);
  const std::string then =
      placement.asked
          ? Format(
                ", and {} with the change{}: {}",
                TimeText(placement.predicted_then),
                copies_then.empty() ? "" : " (" + copies_then + ")",
                RatioText(placement.predicted_then / placement.predicted_now))
          : "";
  std::vector<ExplainLine> lines = {{Format(
      "predicted: a run takes {} now ({}{}{} of the executor){}",
      TimeText(placement.predicted_now), copies, copies.empty() ? "" : ", ",
      TimeText(placement.executor, 2), then)}};
  if (placement.gap > 1e-9) {
    lines.push_back(WholeLine(
        Format("another assignment could be cheaper by up to {:.2g} %",
               100 * placement.gap)));
  }
  if (placement.measured_now.rounds > 0) {
    lines.push_back(
        {"measured: a run takes " +
         MeasuredText(placement.measured_now, placement.predicted_now, "now") +
         (placement.measured_then.rounds > 0
              ? ", and " + MeasuredText(placement.measured_then,
                                        placement.predicted_then,
                                        "with the change")
              : "")});
  }
  if (!placement.not_measured.empty()) {
    lines.push_back({(placement.asked ? "not measured with the change: " : "") +
                     placement.not_measured});
  }
  for (const std::string& note : placement.notes) {
    lines.push_back({note});
  }
  return lines;
}

}  // namespace

std::string Placement::Contradiction() const try {
  ExplainTable report;
  report.head = ContradictionLines(*this);
  return ReportText(report);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

ExplainTable MakeTable(const Placement& placement, bool all) try {
  ExplainTable report;
  report.head = ContradictionLines(placement);
  if (!report.head.empty()) return report;
  report.head = Totals(placement);
  for (const PlacedOp& op : placement.ops) {
    if (!all && !IsAffected(op)) continue;
    report.rows.push_back({{std::to_string(op.op_index), op.op, op.kernel_now,
                            OpTime(op.seconds_now, op.measured_now),
                            op.changes ? op.kernel_then : "the same",
                            OpTime(op.seconds_then, op.measured_then)},
                           Emphasis::kNone,
                           op.op_index});
  }
  if (!report.rows.empty()) {
    report.columns = {{"#", true},    {"op"},   {"now"},
                      {"time", true}, {"then"}, {"time", true}};
    report.foot.push_back(
        WholeLine("m: the kernel was measured by itself, p: predicted"));
  }
  const size_t same = placement.ops.size() - report.rows.size();
  if (same > 0) {
    report.foot.push_back(WholeLine(
        Format("... {} the same: {}", Counted(same, "op"), ShowAll())));
  }
  return report;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const Placement& placement, bool all) try {
  return ReportText(MakeTable(placement, all));
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
