#include "sluice/framework/inspect/explain_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sluice/framework/inspect/explain_summary.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

enum Column {
  kNumber,
  kOp,
  kKernel,
  kPlace,
  kDType,
  kTime,
  kShare,
  kBar,
  kNext,
  kMoved,
  kWhy,
  kColumns
};
constexpr int kBarWidth = 12;
constexpr int kWidthForBars = 120;

// All cells of one row, before columns are left out.
struct Cells {
  std::array<std::string, kColumns> text;
  std::string line;       // in place of cells
  std::string next_name;  // of the next best kernel, after its factor
  Emphasis emphasis = Emphasis::kNone;
  int op = -1;
};

class TableBuilder {
 public:
  TableBuilder(const PlanSummary& summary, const ExplainOptions& options)
      : summary_(summary), options_(options), unit_(0) {}

  void Build(ExplainTable* table) {
    AddRows();
    ChooseColumns();
    for (const int column : shown_) {
      table->columns.push_back({Heading(column), IsRight(column)});
    }
    for (const Cells& row : rows_) {
      ExplainRow& made = table->rows.emplace_back();
      made.emphasis = row.emphasis;
      made.op = row.op;
      if (!row.line.empty()) {
        made.cells = {row.line};
        continue;
      }
      for (const int column : shown_) {
        made.cells.push_back(row.text[column]);
      }
    }
  }

 private:
  static bool IsRight(int column) {
    return column == kNumber || column == kTime || column == kShare ||
           column == kMoved;
  }

  std::string Heading(int column) const {
    constexpr std::array<std::string_view, kColumns> kNames = {
        "#",     "op", "kernel",    "place",    "dtype", "",
        "share", "",   "next best", "moved in", "why"};
    return std::string(column == kTime ? unit_.name() : kNames[column]);
  }

  void AddRows() {
    std::vector<CallGroup> groups;
    if (options_.fold) {
      groups = FoldCalls(summary_.calls, summary_.seconds, options_);
    } else {
      for (const PlanCall& call : summary_.calls) {
        groups.push_back({.calls = {&call}, .seconds = call.seconds()});
      }
    }
    double largest = 0;
    for (const CallGroup& group : groups) {
      largest = std::max(largest, group.seconds);
    }
    unit_ = TimeUnit(largest);
    const bool phases = groups.size() > 20 && summary_.phases.size() > 1 &&
                        summary_.phases.size() <= 5;
    const PlanCall* first = nullptr;
    for (const CallGroup& group : groups) {
      if (phases &&
          (first == nullptr || first->purpose != group.calls[0]->purpose)) {
        first = group.calls[0];
        AddPhase(*first);
      }
      if (group.period > 0) {
        AddRepetition(group);
      } else {
        AddGroup(group);
        if (summary_.has_times && options_.width >= kWidthForBars) {
          rows_.back().text[kBar].assign(
              std::lround(kBarWidth * group.seconds / largest), '#');
        }
      }
    }
  }

  void AddPhase(const PlanCall& first) {
    for (const PlanPhase& phase : summary_.phases) {
      if (phase.first != &first) continue;
      Cells& row = rows_.emplace_back();
      const std::string share = ShareText(phase.seconds);
      row.line = Format("{}: {}{}{}", PhaseName(phase.purpose),
                        Counted(phase.calls, "call"), share.empty() ? "" : ", ",
                        share);
      row.emphasis = Emphasis::kStrong;
    }
  }

  // "17 %"; "" below half a per cent, and where times say nothing.
  std::string ShareText(double seconds) const {
    if (!summary_.has_times || !(summary_.seconds > 0)) return "";
    const double percent = 100 * seconds / summary_.seconds;
    return percent < 0.5 ? "" : Format("{:.0f} %", percent);
  }

  void AddRepetition(const CallGroup& group) {
    Cells& row = rows_.emplace_back();
    row.line =
        Format("... {} {} more, to {}",
               group.period == 1 ? "this call"
                                 : Format("these {} calls", group.period),
               Counted(group.calls.size() / group.period, "time"),
               group.calls.back()->number);
    if (summary_.has_times) {
      row.line += Format(": {}", ShortTime(group.seconds, true));
      const std::string share = ShareText(group.seconds);
      if (!share.empty()) row.line += ", " + share;
    }
    row.emphasis = Emphasis::kFaint;
  }

  void AddGroup(const CallGroup& group) {
    const PlanCall& call = *group.calls[0];
    Cells& row = rows_.emplace_back();
    row.op = call.number;
    row.text[kNumber] = Format("{}{}", call.put_in ? "+" : "", call.number);
    row.text[kTime] = unit_.Cell(group.seconds, 2);
    if (summary_.evidence == PlanEvidence::kMixed && call.estimated()) {
      row.text[kTime] = "~" + row.text[kTime];
    }
    row.text[kShare] = ShareText(group.seconds);
    if (group.mixed || !group.layer.empty()) return AddUnlike(group, &row);
    row.text[kOp] = group.calls.size() == 1
                        ? call.name
                        : Format("{} x{}", call.name, group.calls.size());
    row.text[kKernel] = KernelName(*call.chosen->kernel);
    if (call.decision->place != summary_.plan->place()) {
      row.text[kPlace] = ToString(call.decision->place);
    }
    if (call.chosen->kernel->key.dtype != summary_.dtype) {
      row.text[kDType] = ToString(call.chosen->kernel->key.dtype);
    }
    size_t moved = 0;
    for (const PlanCall* each : group.calls) {
      moved += each->moved_bytes;
    }
    if (moved > 0) row.text[kMoved] = ShortBytes(static_cast<double>(moved));
    row.text[kNext] = NextBestText(call, &row.next_name);
    row.text[kWhy] = call.why;
    row.emphasis = EmphasisOf(call, group);
  }

  // Calls of several kinds: of a layer, or small ones.
  void AddUnlike(const CallGroup& group, Cells* row) {
    const PlanCall& most =
        **std::max_element(group.calls.begin(), group.calls.end(),
                           [](const PlanCall* a, const PlanCall* b) {
                             return a->seconds() < b->seconds();
                           });
    row->text[kOp] = group.mixed ? "small calls" : group.layer;
    row->text[kKernel] = Format("{} calls", group.calls.size());
    row->text[kWhy] = Format("most: #{} {}", most.number, most.name);
    row->emphasis = group.mixed ? Emphasis::kFaint : Emphasis::kNone;
    if (&most == summary_.slowest) row->emphasis = Emphasis::kStrong;
  }

  Emphasis EmphasisOf(const PlanCall& call, const CallGroup& group) const {
    if (call.why.starts_with("hint not")) return Emphasis::kBad;
    if (call.decision->why.reason == Reason::kFellBack) {
      return Emphasis::kDoubtful;
    }
    const bool slowest = summary_.has_times && group.calls.size() == 1 &&
                         summary_.slowest == &call;
    if (slowest) return Emphasis::kStrong;
    return call.put_in ? Emphasis::kFaint : Emphasis::kNone;
  }

  bool AnyIn(int column) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const Cells& row) {
      return !row.text[column].empty();
    });
  }

  int WidthOf(int column) const {
    size_t width = Heading(column).size();
    for (const Cells& row : rows_) {
      width = std::max(width, row.text[column].size());
    }
    return static_cast<int>(width);
  }

  bool TooWide() const {
    int width = -2;
    for (const int column : shown_) {
      width += WidthOf(column) + 2;
    }
    return width > options_.width;
  }

  // Cuts the cells of columns, or drops those of width 0, while it is needed.
  void Narrow(std::initializer_list<std::pair<Column, size_t>> columns) {
    for (const auto& [column, width] : columns) {
      if (!TooWide()) return;
      if (width == 0) std::erase(shown_, column);
      for (Cells& row : rows_) {
        row.text[column] = column == kWhy ? CutReason(row.text[column], width)
                                          : CutMiddle(row.text[column], width);
      }
    }
  }

  void AddNextNames() {
    size_t factor = 0;
    for (const Cells& row : rows_) {
      if (!row.next_name.empty()) {
        factor = std::max(factor, row.text[kNext].size());
      }
    }
    for (Cells& row : rows_) {
      if (row.next_name.empty()) continue;
      row.text[kNext] =
          Format("{:>{}} {}", row.text[kNext], factor, row.next_name);
    }
  }

  // What a narrow screen leaves out, the least important first.
  void ChooseColumns() {
    for (int column = 0; column < kColumns; ++column) {
      const bool optional = column == kPlace || column == kDType ||
                            column == kMoved || column == kShare ||
                            column == kBar;
      if (column == kTime && !summary_.has_times) continue;
      if (optional && !AnyIn(column)) continue;
      shown_.push_back(column);
    }
    const std::vector<Cells> without_names = rows_;
    AddNextNames();
    Narrow({{kOp, 26},
            {kOp, 22},
            {kBar, 0},
            {kShare, 0},
            {kOp, 20},
            {kWhy, 24},
            {kOp, 16},
            {kWhy, 16},
            {kOp, 13},
            {kWhy, 12}});
    if (TooWide()) {
      for (size_t i = 0; i < rows_.size(); ++i) {
        rows_[i].text[kNext] = without_names[i].text[kNext];
      }
    }
    Narrow({{kDType, 0},
            {kMoved, 0},
            {kNext, 0},
            {kWhy, 0},
            {kPlace, 0},
            {kKernel, 12}});
  }

  const PlanSummary& summary_;
  const ExplainOptions& options_;
  TimeUnit unit_;
  std::vector<Cells> rows_;
  std::vector<int> shown_;
};

}  // namespace

std::string_view ToString(Emphasis emphasis) {
  constexpr std::string_view kNames[] = {"", "strong", "faint", "bad",
                                         "doubtful"};
  return kNames[static_cast<int>(emphasis)];
}

ExplainTable MakeExplainTable(const Plan& plan, const ExplainOptions& options) {
  const PlanSummary summary = Summarise(plan);
  ExplainTable table;
  table.head = HeadOf(summary, options);
  TableBuilder(summary, options).Build(&table);
  table.foot = FootOf(summary, options);
  return table;
}

}  // namespace sluice
