#include <algorithm>
#include <map>

#include "sluice/framework/inspect/explain_summary.h"
#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

bool Computes(const PlanCall& call, int op) {
  const auto& covers = call.decision->covers;
  return call.number == op || call.decision->op_index == op ||
         std::find(covers.begin(), covers.end(), op) != covers.end();
}

const PlanCall& CallWith(const PlanSummary& summary, int op) {
  for (const PlanCall& call : summary.calls) {
    if (Computes(call, op)) return call;
  }
  const auto& idle = summary.plan->idle_ops();
  const bool is_idle = std::find(idle.begin(), idle.end(), op) != idle.end();
  Raise(ErrorCode::kNotFound, "explain.op",
        "Explain: op {} {}; the first column of explain() has the ops", op,
        is_idle ? "does not run in this plan" : "is not in this plan");
}

// "15 Mflop, 324 kB": what a call computes and moves.
std::string WorkText(const KernelWork& work) {
  const auto number = [](double count) {
    const std::string bytes = ShortBytes(count);
    return bytes.substr(0, bytes.size() - 1);  // "15 M", "768 "
  };
  std::string text;
  if (work.flops > 0) text += Format("{}flop, ", number(work.flops));
  return text + ShortBytes(work.bytes + work.extra_bytes);
}

void AddValues(const PlanSummary& summary,
               const PlanCall& call,
               std::vector<ExplainLine>* lines) {
  const Plan& plan = *summary.plan;
  const auto op = std::find_if(
      plan.ops().begin(), plan.ops().end(), [&](const PlannedOp& each) {
        return each.op_index == call.decision->op_index;
      });
  const auto add = [&](std::string_view side, const auto& arguments,
                       const std::vector<int>& slots) {
    size_t flat = 0;
    for (const auto& [argument, vars] : arguments) {
      for (const std::string& var : vars) {
        if (flat >= slots.size()) return;
        const Slot& slot = plan.slots()[slots[flat++]];
        const bool kept = slot.kind == SlotKind::kPersistable ||
                          slot.kind == SlotKind::kShadow;
        std::string value = ValueText(slot.dtype, slot.dims);
        if (slot.dtype == DType::kFloat32) value.insert(0, "float32 ");
        lines->push_back({Format("{:>4}  {:<12} {}  {}{}", side, argument,
                                 value, CutMiddle(Shown(var), 40),
                                 kept ? "  parameter or state" : "")});
        side = "";
      }
    }
  };
  add("in", call.desc->inputs, op->inputs);
  add("out", call.desc->outputs, op->outputs);
}

std::string FromText(const PlanCall& call) {
  const auto& [file, line] = call.desc->location;
  std::string text =
      file.empty()
          ? "from: the program"
          : Format("from: {}:{}", file.substr(file.rfind('/') + 1), line);
  text += Format("; {}; {}", PhaseName(call.purpose),
                 call.chosen->kernel->key.dtype);
  if (call.decision->list->layout != Layout::kAny) {
    text += Format("; layout {}", call.decision->list->layout);
  }
  if (call.decision->covers.size() > 1 || call.put_in) {
    text += Format("; {} by pass {}", call.put_in ? "put in" : "fused",
                   call.decision->pass);
  }
  return text;
}

void Drop(size_t column, ExplainTable* table) {
  const auto at = static_cast<ptrdiff_t>(column);
  table->columns.erase(table->columns.begin() + at);
  for (ExplainRow& row : table->rows) {
    row.cells.erase(row.cells.begin() + at);
  }
}

// Makes the table of candidates narrower. Hints are for copying: they are never
// cut, and have lines of their own if there is no room.
void Fit(int width, ExplainTable* table) {
  constexpr size_t kFrom = 3;
  constexpr size_t kWork = 4;
  if (WidthOf(*table) > width) Drop(kWork, table);
  if (WidthOf(*table) > width) Drop(kFrom, table);
  if (WidthOf(*table) <= width) return;
  const size_t hints = table->columns.size() - 1;
  table->foot.push_back({"hints, in the same order", Emphasis::kFaint});
  for (const ExplainRow& row : table->rows) {
    table->foot.push_back({"  " + row.cells[hints], Emphasis::kNone, true});
  }
  Drop(hints, table);
}

// Fitting candidates, the chosen one first, then by time.
std::vector<const Candidate*> Fitting(const PlanCall& call) {
  std::vector<const Candidate*> fitting;
  for (const Candidate& candidate : call.decision->candidates()) {
    if (candidate.refusal.empty()) fitting.push_back(&candidate);
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const auto* a, const auto* b) {
                     return std::pair(a != call.chosen, a->seconds) <
                            std::pair(b != call.chosen, b->seconds);
                   });
  return fitting;
}

std::string NameAt(const Candidate& candidate, const PlanCall& call) {
  return KernelName(*candidate.kernel, candidate.place, call.decision->place);
}

void AddCandidates(const PlanCall& call, ExplainTable* table) {
  table->columns = {{"", false},     {"kernel", false}, {"time", true},
                    {"from", false}, {"work", false},   {"hint", false}};
  for (const Candidate* candidate : Fitting(call)) {
    const bool chosen = candidate == call.chosen;
    const bool estimated = candidate->evidence == Evidence::kEstimate;
    table->rows.push_back(
        {{chosen ? "*" : "", NameAt(*candidate, call),
          ShortTime(candidate->seconds, estimated),
          std::string(ToString(candidate->evidence)), WorkText(candidate->work),
          chosen ? "chosen" : HintFor(call, *candidate)},
         chosen ? Emphasis::kStrong : Emphasis::kNone,
         call.number});
  }
}

// Kernels that do not fit: one line for each reason, other dtypes counted. In
// the whole table, whose head says why, one line has those of other places.
void AddRefused(const PlanCall& call,
                bool whole,
                std::vector<ExplainLine>* lines) {
  std::vector<std::pair<std::string, std::string>> refused, elsewhere;
  int other_dtypes = 0;
  const auto add = [&](const KernelDef& kernel, const std::string& refusal,
                       bool other_place) {
    if (kernel.key.dtype != call.decision->list->expected.dtype) {
      ++other_dtypes;
      return;
    }
    const bool away = whole && other_place;
    const std::string why(away ? ToString(kernel.key.place) : refusal);
    auto& by_reason = away ? elsewhere : refused;
    const auto known =
        std::find_if(by_reason.begin(), by_reason.end(),
                     [&](const auto& each) { return each.second == why; });
    if (known == by_reason.end()) {
      by_reason.emplace_back(KernelName(kernel), why);
    } else {
      known->first += ", " + KernelName(kernel);
    }
  };
  for (const Candidate& candidate : call.decision->candidates()) {
    if (candidate.refusal.empty()) continue;
    add(*candidate.kernel, candidate.refusal, candidate.elsewhere);
  }
  for (const KernelDef* kernel : KernelsElsewhere(*call.decision)) {
    add(*kernel, WhyElsewhere(*call.decision, *kernel), true);
  }
  for (const auto& [kernels, refusal] : refused) {
    lines->push_back({Format("  {}: {}", kernels, refusal)});
  }
  std::string others;
  for (const auto& [kernels, place] : elsewhere) {
    others += Format("{}{} at {}", others.empty() ? "" : ", ", kernels, place);
  }
  if (other_dtypes > 0) {
    others += Format("{}{} of other dtypes", others.empty() ? "" : "; ",
                     Counted(other_dtypes, "kernel"));
  }
  if (!others.empty()) {
    lines->push_back({Format("  {}{}", whole ? "others: " : "", others)});
  }
}

// Hints that are not obeyed, and notes of the choice.
void AddAnswers(const PlanCall& call,
                std::string_view indent,
                std::vector<ExplainLine>* lines) {
  for (const HintAnswer& answer : call.decision->answers) {
    if (answer.obeyed) continue;
    lines->push_back({Format("{}hint \"{}\" is not obeyed: {}", indent,
                             answer.hint, answer.why_not),
                      Emphasis::kBad});
  }
  for (const std::string& note : call.decision->list->notes) {
    lines->push_back({Format("{}{}", indent, note), Emphasis::kFaint});
  }
}

// The ops that a fused call includes, and their time apart; "" if not fused.
std::string CoversText(const Decision& decision) {
  std::string text;
  for (size_t i = 0; i < decision.covers.size(); ++i) {
    text += Format("{}{} ({})", i == 0 ? "  includes ops " : ", ",
                   decision.covers[i], decision.covered_ops[i]);
  }
  const size_t fused = decision.reason.find("; fused ");
  if (decision.covers.size() < 2) text.clear();
  if (fused == std::string::npos) return text;
  return text.empty() ? " " + decision.reason.substr(fused + 1)
                      : text + decision.reason.substr(fused);
}

// The lines about a call below its row in the whole table.
std::vector<ExplainLine> LinesOf(const PlanCall& call) {
  std::vector<ExplainLine> lines;
  if (call.decision->why.reason == Reason::kRunsBlocks) {
    lines.push_back({"  " + call.decision->reason});
  }
  for (const std::string& hint : call.decision->list->hints) {
    lines.push_back({"  hint: " + hint});
  }
  for (const Candidate* candidate : Fitting(call)) {
    if (candidate == call.chosen) continue;
    const bool estimated = candidate->evidence == Evidence::kEstimate;
    std::string line =
        Format("{:>11} {:<16} {}",
               estimated ? ShortTime(candidate->seconds, true)
                         : PredictionText(*candidate),
               NameAt(*candidate, call), HintFor(call, *candidate));
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back({std::move(line)});
  }
  AddRefused(call, true, &lines);
  AddAnswers(call, "  ", &lines);
  return lines;
}

// Adds the lines about a call, or the number of one that has the same.
void AddLines(const PlanCall& call,
              std::map<std::string, int>* known,
              std::vector<ExplainRow>* rows) {
  const auto add = [rows](const std::string& text) {
    rows->push_back({{"  " + text}, Emphasis::kFaint});
  };
  if (const auto text = CoversText(*call.decision); !text.empty()) add(text);
  const std::vector<ExplainLine> lines = LinesOf(call);
  const std::string number = Format("#{}: ", call.number);
  std::string key;
  for (const ExplainLine& line : lines) {
    const size_t hint = line.text.find(number);
    key += line.text.substr(0, hint) + '\n';
    if (hint != std::string::npos) {
      key += line.text.substr(hint + number.size());
    }
  }
  const auto [same, added] = known->emplace(key, call.number);
  if (!added && lines.size() > 1) {
    return add(Format("  other kernels: as those of #{}", same->second));
  }
  for (const ExplainLine& line : lines) {
    add(line.text);
  }
}

}  // namespace

int WidthOf(const ExplainTable& table) {
  int width = -2;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    size_t widest = table.columns[column].name.size();
    for (const ExplainRow& row : table.rows) {
      widest = std::max(widest, row.cells[column].size());
    }
    width += static_cast<int>(widest) + 2;
  }
  return width;
}

ExplainTable MakeWholeTable(const Plan& plan, const ExplainOptions& options) {
  ExplainOptions unfolded = options;
  unfolded.layers.clear();
  unfolded.pointers = false;
  ExplainTable table = MakeExplainTable(plan, unfolded);
  table.head.push_back(
      {Format("below an op: its other kernels, with the hints that take them; "
              "then those that do not fit, and why; others: kernels at places "
              "that a hint allows, or of other dtypes{}",
              options.fold ? "; fold=false repeats what is counted" : ""),
       Emphasis::kFaint});
  const std::vector<PlanCall> calls = CallsOf(plan);
  std::vector<ExplainRow> rows;
  std::map<std::string, int> known;
  for (ExplainRow& row : table.rows) {
    const auto call = std::find_if(
        calls.begin(), calls.end(),
        [&](const PlanCall& each) { return each.number == row.op; });
    rows.push_back(std::move(row));
    if (call != calls.end()) AddLines(*call, &known, &rows);
  }
  table.rows = std::move(rows);
  for (const Transfer& transfer : plan.transfers()) {
    table.foot.push_back({Format(
        "copy of {}: {} -> {}, {}, for {}", Shown(transfer.var), transfer.from,
        transfer.to, ShortBytes(static_cast<double>(transfer.bytes)),
        transfer.op_index < 0 ? "the fetch"
                              : Format("#{}", transfer.op_index))});
  }
  for (const std::string& note : plan.notes()) {
    table.foot.push_back({note});
  }
  return table;
}

bool ComputesOp(const Plan& plan, int op) {
  const auto calls = CallsOf(plan);
  return std::any_of(calls.begin(), calls.end(),
                     [&](const PlanCall& call) { return Computes(call, op); });
}

ExplainTable MakeOpTable(const Plan& plan, const ExplainOptions& options) {
  const PlanSummary summary = Summarise(plan);
  const PlanCall& call = CallWith(summary, options.op);
  ExplainTable table;
  std::string line = Format(
      "op {} {}: {} at {}, {} ({})", call.number, call.name,
      KernelName(*call.chosen->kernel), call.decision->place,
      ShortTime(call.seconds(), call.estimated()), call.chosen->evidence);
  if (summary.has_times) {
    line += Format(", {:.0f} % of {}", 100 * call.seconds() / summary.seconds,
                   ShortTime(summary.seconds, true));
  }
  table.head.push_back({std::move(line), Emphasis::kStrong});
  table.head.push_back({Format("why: {}{}", call.why, AlsoBestText(call))});
  table.head.push_back({FromText(call)});
  AddValues(summary, call, &table.head);
  AddCandidates(call, &table);
  Fit(options.width, &table);
  std::vector<ExplainLine> refused;
  AddRefused(call, false, &refused);
  if (!refused.empty()) {
    table.foot.push_back({"kernels that do not fit", Emphasis::kFaint});
    table.foot.insert(table.foot.end(), refused.begin(), refused.end());
  }
  AddAnswers(call, "", &table.foot);
  return table;
}

}  // namespace sluice
