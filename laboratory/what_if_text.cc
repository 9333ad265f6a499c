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
  return text.empty() ? "" : Wrapped(text);
}

std::string ContradictionOf(const Timing& measured,
                            double predicted,
                            std::string_view which) {
  if (measured.rounds == 0 || !Contradict(measured.median, predicted)) {
    return "";
  }
  const double ratio = measured.median / predicted;
  return Wrapped(
      Format("no prediction: a run {} would take {} by its parts, and takes {} "
             "measured, {:.3g} times apart",
             which, TimeText(predicted), TimeText(measured),
             std::max(ratio, 1 / ratio)));
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

std::string Totals(const Placement& placement) {
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
  std::string text = Wrapped(Format(
      "predicted: a run takes {} now ({}{}{} of the executor){}",
      TimeText(placement.predicted_now), copies, copies.empty() ? "" : ", ",
      TimeText(placement.executor, 2), then));
  if (placement.gap > 1e-9) {
    text += Format("another assignment could be cheaper by up to {:.2g} %\n",
                   100 * placement.gap);
  }
  if (placement.measured_now.rounds > 0) {
    text += Wrapped(
        "measured: a run takes " +
        MeasuredText(placement.measured_now, placement.predicted_now, "now") +
        (placement.measured_then.rounds > 0
             ? ", and " + MeasuredText(placement.measured_then,
                                       placement.predicted_then,
                                       "with the change")
             : ""));
  }
  if (!placement.not_measured.empty()) {
    text += Wrapped((placement.asked ? "not measured with the change: " : "") +
                    placement.not_measured);
  }
  for (const std::string& note : placement.notes) {
    text += Wrapped(note);
  }
  return text;
}

}  // namespace

std::string Placement::Contradiction() const try {
  const std::string now = ContradictionOf(measured_now, predicted_now, "now");
  const std::string then =
      ContradictionOf(measured_then, predicted_then, "with the change");
  if (now.empty() && then.empty()) return "";
  std::string text = now + then;
  if (!now.empty()) text += FurthestOff(*this);
  return text +
         "measure again when nothing else runs, or with a larger budget\n";
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const Placement& placement, bool all) try {
  std::string text = placement.Contradiction();
  if (!text.empty()) return text;
  text = Totals(placement);
  TextTable table("><<><>", {"#", "op", "now", "time", "then", "time"});
  for (const PlacedOp& op : placement.ops) {
    if (!all && !IsAffected(op)) continue;
    table.Add({std::to_string(op.op_index), op.op, op.kernel_now,
               OpTime(op.seconds_now, op.measured_now),
               op.changes ? op.kernel_then : "the same",
               OpTime(op.seconds_then, op.measured_then)});
  }
  const size_t same = placement.ops.size() - table.size();
  if (table.size() > 0) {
    text += "\n" + table.Text() +
            "m: the kernel was measured by itself, p: predicted\n";
  }
  if (same == 0) return text;
  return text + Format("... {} the same: {}\n", Counted(same, "op"), ShowAll());
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
