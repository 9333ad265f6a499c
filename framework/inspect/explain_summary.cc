#include "sluice/framework/inspect/explain_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "sluice/framework/inspect/units.h"
#include "sluice/framework/program/ragged_rows.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

constexpr double kClock = 1e-6;  // shorter times say nothing

std::vector<PlanPhase> PhasesOf(const std::vector<PlanCall>& calls) {
  std::vector<PlanPhase> phases;
  for (const PlanCall& call : calls) {
    if (phases.empty() || phases.back().purpose != call.purpose) {
      phases.push_back({call.purpose, &call, 0, 0});
    }
    ++phases.back().calls;
    phases.back().seconds += call.seconds();
  }
  return phases;
}

std::string Percent(double part, double whole) {
  const double percent = 100 * part / whole;
  return percent < 1 ? "<1 %" : Format("{:.0f} %", percent);
}

// "; fed x [50, 13], words: ragged int64, 218 rows in 32".
std::string FedText(const std::vector<FeedSpec>& feeds) {
  std::map<std::string, const FeedSpec*> by_name;
  for (const FeedSpec& feed : feeds) {
    by_name[feed.name] = &feed;
  }
  constexpr size_t kShown = 6;
  std::string text;
  size_t count = 0;
  for (const FeedSpec& feed : feeds) {
    const std::string& name = feed.name;
    const size_t rows = name.rfind(kOffsetsSuffix);
    if (rows != std::string::npos && by_name.count(name.substr(0, rows)) > 0) {
      continue;
    }
    if (++count > kShown) continue;
    const auto offsets = by_name.find(Format("{}{}", name, kOffsetsSuffix));
    const bool ragged = offsets != by_name.end();
    text += Format("{} {}{} {}", count == 1 ? "; fed" : ",",
                   CutMiddle(Shown(name), 40), ragged ? ":" : "",
                   ragged ? Format("ragged {}, {} rows in {}", feed.dtype,
                                   feed.dims[0], offsets->second->dims[0] - 1)
                          : ValueText(feed.dtype, feed.dims));
  }
  return count <= kShown ? text : text + Format(" and {} more", count - kShown);
}

std::string SlowestLine(const PlanSummary& summary) {
  const PlanCall& call = *summary.slowest;
  return Format("slowest: #{} {}, {}, {}, {}: {}{}", call.number,
                CutMiddle(call.name, 40),
                KernelName(*call.chosen->kernel, call.decision->place,
                           summary.plan->place()),
                ShortTime(call.seconds(), call.estimated()),
                Percent(call.seconds(), summary.seconds), call.why,
                AlsoBestText(call));
}

std::string TimeLine(const PlanSummary& summary) {
  std::string line = Format("{} in {}", Counted(summary.ops, "op"),
                            Counted(summary.calls.size(), "call"));
  const auto put_in =
      std::count_if(summary.calls.begin(), summary.calls.end(),
                    [](const PlanCall& call) { return call.put_in; });
  if (put_in > 0) line += Format(", {} of them put in", put_in);
  const auto by_hint = std::count_if(
      summary.calls.begin(), summary.calls.end(),
      [](const PlanCall& call) { return IsByHint(call.decision->why.reason); });
  if (by_hint > 0) line += Format(", {} chosen by hint", by_hint);
  if (summary.calls.empty()) return line;
  if (!summary.has_times) {
    const bool knows = std::all_of(
        summary.calls.begin(), summary.calls.end(), [](const PlanCall& call) {
          return !call.estimated() || call.seconds() > 0;
        });
    return line + (knows ? "; each predicted below 1 us: too short to compare"
                         : "; no prediction: a kernel gives no estimate");
  }
  constexpr std::string_view kFrom[] = {"estimates; tuning measures",
                                        "measured on this machine",
                                        "~: estimates; tuning measures"};
  return line +
         Format("; {} predicted{} ({})", ShortTime(summary.seconds, false),
                summary.plan->transfers().empty() ? "" : " without copies",
                kFrom[static_cast<int>(summary.evidence)]);
}

// What the copies of one run move, and between what.
std::string MovedText(const Plan& plan) {
  std::set<std::string> feeds;
  for (const FeedSpec& feed : plan.feed_specs()) {
    feeds.insert(feed.name);
  }
  double fed = 0;
  double between = 0;
  double fetched = 0;
  for (const Transfer& transfer : plan.transfers()) {
    double& bytes = transfer.op_index < 0           ? fetched
                    : feeds.count(transfer.var) > 0 ? fed
                                                    : between;
    bytes += static_cast<double>(transfer.bytes);
  }
  std::string parts;
  for (const auto& [what, bytes] :
       {std::pair("fed", fed), std::pair("between ops", between),
        std::pair("fetched", fetched)}) {
    if (bytes == 0) continue;
    parts +=
        Format("{}{} {}", parts.empty() ? "" : ", ", what, ShortBytes(bytes));
  }
  return Format("moved: {} in {}: {}", ShortBytes(fed + between + fetched),
                plan.transfers().size() == 1
                    ? "1 copy"
                    : Format("{} copies", plan.transfers().size()),
                parts);
}

std::string MemoryText(const Plan& plan) {
  std::string text = "memory: ";
  const auto& arenas = plan.arenas();
  for (size_t i = 0; i < arenas.size(); ++i) {
    text += Format("{}{}{}", i == 0 ? "" : ", ",
                   ShortBytes(static_cast<double>(arenas[i].second)),
                   arenas.size() == 1 && arenas[i].first == plan.place()
                       ? ""
                       : Format(" at {}", arenas[i].first));
  }
  if (arenas.empty()) text += "0 B";
  if (plan.PoolBytes() > plan.SharedBytes() && plan.SharedBytes() > 0) {
    text += Format(" of {} that plans share",
                   ShortBytes(static_cast<double>(plan.PoolBytes())));
  }
  std::map<std::string, size_t> kept;
  for (const Slot& slot : plan.slots()) {
    if (slot.kind == SlotKind::kPersistable || slot.kind == SlotKind::kShadow) {
      kept[slot.var] = slot.bytes;
    }
  }
  double bytes = 0;
  for (const auto& [var, size] : kept) {
    bytes += static_cast<double>(size);
  }
  if (bytes > 0) text += Format("; parameters and state {}", ShortBytes(bytes));
  return text;
}

}  // namespace

std::string_view PhaseName(OpPurpose purpose) {
  constexpr std::string_view kNames[] = {"forward", "backward", "optimizer"};
  return kNames[static_cast<int>(purpose)];
}

PlanSummary Summarise(const Plan& plan) {
  PlanSummary summary;
  summary.plan = &plan;
  summary.calls = CallsOf(plan);
  summary.phases = PhasesOf(summary.calls);
  std::map<DType, int> dtypes;
  bool estimates = false;
  bool records = false;
  for (const PlanCall& call : summary.calls) {
    summary.ops += static_cast<int>(call.decision->covers.size());
    summary.seconds += call.seconds();
    summary.has_times |= call.seconds() >= kClock;
    (call.estimated() ? estimates : records) = true;
    ++dtypes[call.chosen->kernel->key.dtype];
    if (summary.slowest == nullptr ||
        call.seconds() > summary.slowest->seconds()) {
      summary.slowest = &call;
    }
  }
  if (records) {
    summary.evidence =
        estimates ? PlanEvidence::kMixed : PlanEvidence::kRecords;
  }
  int most = 0;
  for (const auto& [dtype, count] : dtypes) {
    if (count <= most) continue;
    most = count;
    summary.dtype = dtype;
  }
  return summary;
}

std::string TitleLine(const PlanSummary& summary,
                      const ExplainOptions& options) {
  const Plan& plan = *summary.plan;
  const bool training = std::any_of(
      summary.phases.begin(), summary.phases.end(), [](const PlanPhase& phase) {
        return phase.purpose != OpPurpose::kForward;
      });
  std::string line =
      Format("{}{}, {}, {}", options.title, training ? " (training)" : "",
             PlacesText(plan), Counted(plan.num_threads(), "thread"));
  return line + FedText(plan.feed_specs());
}

std::string NextBestText(const PlanCall& call, std::string* name) {
  if (call.next == nullptr) return "-";
  const double ratio = call.next->seconds / call.seconds();
  const bool here = call.next->place == call.decision->place;
  if (!here && ratio < 1 / 1.05) return "-";  // the reason says so
  *name =
      here ? KernelName(*call.next->kernel) : Format("at {}", call.next->place);
  if (call.seconds() < kClock) return ShortTime(call.next->seconds, true);
  return ratio < 0.95 ? Format("{} faster", TimesAsLong(1 / ratio))
                      : TimesAsLong(ratio);
}

std::string AlsoBestText(const PlanCall& call) {
  std::string name;
  const std::string factor = NextBestText(call, &name);
  return factor == "-" ? "" : Format("; next best {} {}", name, factor);
}

std::vector<ExplainLine> HeadOf(const PlanSummary& summary,
                                const ExplainOptions& options) {
  std::vector<ExplainLine> head = {
      {TitleLine(summary, options), Emphasis::kStrong}, {TimeLine(summary)}};
  if (summary.has_times) {
    head.push_back({SlowestLine(summary), Emphasis::kStrong});
  }
  return head;
}

std::vector<ExplainLine> FootOf(const PlanSummary& summary,
                                const ExplainOptions& options) {
  const Plan& plan = *summary.plan;
  std::vector<ExplainLine> foot;
  if (!plan.transfers().empty()) foot.push_back({MovedText(plan)});
  foot.push_back(
      {MemoryText(plan) + (plan.transfers().empty() ? "; no copies" : "")});
  if (const auto& idle = plan.idle_ops(); !idle.empty()) {
    std::string line = Format(
        "{} not run:",
        idle.size() == 1 ? "1 op does" : Format("{} ops do", idle.size()));
    for (size_t i = 0; i < idle.size() && i < 4; ++i) {
      line += Format("{} {} {}", i == 0 ? "" : ",", idle[i],
                     plan.op_descs()[idle[i]].type);
    }
    if (idle.size() > 4) line += ", ...";
    foot.push_back({std::move(line), Emphasis::kFaint});
  }
  if (!plan.rest().empty()) {
    foot.push_back({Format("more of the program runs after this: {}",
                           plan.rest().reason)});
  }
  const auto& notes = plan.hint_notes();
  for (size_t i = 0; i < notes.size(); ++i) {
    foot.push_back({Format("[{}] {}", i + 1, notes[i].text), Emphasis::kBad});
  }
  for (const std::string& line : options.advice) {
    foot.push_back({line, Emphasis::kNone, line.starts_with(' ')});
  }
  if (summary.slowest != nullptr && options.pointers) {
    // The form of hints says which language is read.
    const bool python = options.hint_form.starts_with("with");
    foot.push_back(
        {Format(python ? "one op in full: explain(op={}); every kernel and "
                         "remark: explain(all=True)"
                       : "one op in full: ExplainOptions{{.op = {}}}; every "
                         "kernel and remark: {{.all = true}}",
                summary.slowest->number),
         Emphasis::kFaint});
  }
  return foot;
}

}  // namespace sluice
