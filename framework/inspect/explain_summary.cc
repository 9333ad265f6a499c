#include "sluice/framework/inspect/explain_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "sluice/framework/inspect/units.h"
#include "sluice/framework/program/ragged_rows.h"
#include "sluice/platform/device.h"
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

// Calls of one op and kernel.
struct CallKind {
  std::string name;
  const PlanCall* slowest = nullptr;
  int calls = 0;
  double seconds = 0;
};

CallKind SlowestKind(const std::vector<PlanCall>& calls) {
  std::map<std::pair<std::string, const KernelDef*>, CallKind> kinds;
  for (const PlanCall& call : calls) {
    CallKind& kind = kinds[{call.name, call.chosen->kernel}];
    kind.name = call.name;
    ++kind.calls;
    kind.seconds += call.seconds();
    if (kind.slowest == nullptr || call.seconds() > kind.slowest->seconds()) {
      kind.slowest = &call;
    }
  }
  return std::max_element(kinds.begin(), kinds.end(),
                          [](const auto& a, const auto& b) {
                            return a.second.seconds < b.second.seconds;
                          })
      ->second;
}

std::string Percent(double part, double whole) {
  const double percent = 100 * part / whole;
  return percent < 1 ? "<1 %" : Format("{:.0f} %", percent);
}

std::string PlaceText(const PlanCall& call, const Plan& plan) {
  return call.decision->place == plan.place()
             ? ""
             : Format(" at {}", call.decision->place);
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
  std::string next;
  if (call.next != nullptr) {
    std::string name;
    const std::string factor = NextBestText(call, &name);
    if (factor != "-") next = Format("; next best {} {}", name, factor);
  }
  if (call.seconds() >= 0.05 * summary.seconds) {
    return Format("slowest: #{} {}, {}{}, {}, {}: {}{}", call.number,
                  CutMiddle(call.name, 40), KernelName(*call.chosen->kernel),
                  PlaceText(call, *summary.plan),
                  ShortTime(call.seconds(), call.estimated()),
                  Percent(call.seconds(), summary.seconds), call.why, next);
  }
  const CallKind kind = SlowestKind(summary.calls);
  return Format("slowest kind: {} by {}, {}, {}, {}", CutMiddle(kind.name, 40),
                KernelName(*kind.slowest->chosen->kernel),
                Counted(kind.calls, "call"), ShortTime(kind.seconds, true),
                Percent(kind.seconds, summary.seconds));
}

std::string TimeLine(const PlanSummary& summary) {
  std::string line = Format("{} in {}", Counted(summary.ops, "op"),
                            Counted(summary.calls.size(), "call"));
  const auto put_in =
      std::count_if(summary.calls.begin(), summary.calls.end(),
                    [](const PlanCall& call) { return call.put_in; });
  if (put_in > 0) line += Format(", {} of them put in", put_in);
  if (!summary.has_times) {
    return summary.calls.empty()
               ? line
               : line + "; each predicted below 1 us: too short to compare";
  }
  const bool estimated = summary.evidence != PlanEvidence::kRecords;
  line += Format("; {} predicted{} ", ShortTime(summary.seconds, false),
                 summary.plan->transfers().empty() ? "" : " without copies");
  if (summary.evidence == PlanEvidence::kMixed) {
    return line + "(~: estimates; tuning measures)";
  }
  return line + (estimated ? "(estimates; tuning measures)"
                           : "(measured on this machine)");
}

// "put in for NHWC: 7 calls, 30 us (5 %)".
void AddPutIn(const PlanSummary& summary, std::vector<ExplainLine>* lines) {
  std::map<std::string, std::pair<int, double>> put_in;
  for (const PlanCall& call : summary.calls) {
    if (!call.put_in) continue;
    auto& [calls, seconds] = put_in[call.why];
    ++calls;
    seconds += call.seconds();
  }
  for (const auto& [why, total] : put_in) {
    std::string line = Format("{}: {}", why, Counted(total.first, "call"));
    if (summary.has_times) {
      line += Format(", {} ({})", ShortTime(total.second, true),
                     Percent(total.second, summary.seconds));
    }
    lines->push_back({std::move(line)});
  }
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
  const auto add = [&](std::string_view what, double bytes,
                       const std::string& more) {
    if (bytes == 0) return;
    parts += Format("{}{} {}{}", parts.empty() ? "" : ", ", what,
                    ShortBytes(bytes), more);
  };
  add("fed", fed, "");
  add("between ops", between, "");
  add("fetched", fetched, "");
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
  const bool emulated =
      DeviceManager::Instance().Get(plan.place()).is_emulated();
  std::string line =
      Format("{}{}, {}{}, {}", options.title, training ? " (training)" : "",
             plan.place(), emulated ? " (emulated)" : "",
             Counted(plan.num_threads(), "thread"));
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

std::vector<ExplainLine> HeadOf(const PlanSummary& summary,
                                const ExplainOptions& options) {
  std::vector<ExplainLine> head;
  head.push_back({TitleLine(summary, options), Emphasis::kStrong});
  head.push_back({TimeLine(summary)});
  if (summary.has_times) {
    head.push_back({SlowestLine(summary), Emphasis::kStrong});
  }
  return head;
}

std::vector<ExplainLine> FootOf(const PlanSummary& summary,
                                const ExplainOptions& options) {
  const Plan& plan = *summary.plan;
  std::vector<ExplainLine> foot;
  AddPutIn(summary, &foot);
  if (!plan.transfers().empty()) foot.push_back({MovedText(plan)});
  foot.push_back(
      {MemoryText(plan) + (plan.transfers().empty() ? "; no copies" : "")});
  if (!plan.idle_ops().empty()) {
    const size_t idle = plan.idle_ops().size();
    std::string line = Format(
        "{} not run: ", idle == 1 ? "1 op does" : Format("{} ops do", idle));
    for (size_t i = 0; i < plan.idle_ops().size() && i < 4; ++i) {
      const int op = plan.idle_ops()[i];
      line +=
          Format("{}{} {}", i == 0 ? "" : ", ", op, plan.op_descs()[op].type);
    }
    foot.push_back(
        {line + (plan.idle_ops().size() > 4 ? ", ..." : ""), Emphasis::kFaint});
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
