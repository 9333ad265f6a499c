#include <algorithm>
#include <cmath>
#include <new>

#include "sluice/laboratory/compare.h"
#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Rows of the table unless it has all ops.
constexpr size_t kMostRows = 12;

std::string HintsText(std::string_view hints) {
  if (HintsOfSet(hints).empty()) return "no hints";
  if (hints != HintsOfSet(hints)) return std::string(hints) + " kernels";
  std::string text(hints.substr(0, hints.find_last_not_of(" \n") + 1));
  std::ranges::replace(text, '\n', ';');
  return text;
}

bool HasTimes(const Comparison& comparison) {
  return comparison.run_a.rounds > 0 && comparison.run_b.rounds > 0;
}

// A run and its ops under A, and under B.
std::pair<ShownTimes, ShownTimes> Shown(const Comparison& comparison) {
  std::pair<ShownTimes, ShownTimes> shown = {{comparison.run_a},
                                             {comparison.run_b}};
  for (const OpComparison& op : comparison.ops) {
    shown.first.ops += op.seconds_a;
    shown.second.ops += op.seconds_b;
  }
  return shown;
}

// Why the times of ops are not listed; "" if they are.
std::string WhyNoOps(const Comparison& comparison) {
  const auto [a, b] = Shown(comparison);
  if (!HasTimes(comparison)) return "";
  if (std::string why = a.WhyNoOps(); !why.empty()) return "A: " + why;
  const std::string why = b.WhyNoOps();
  return why.empty() ? "" : "B: " + why;
}

void AddRuns(const Comparison& comparison, ExplainTable* report) {
  const auto line = [&](const char* name, const std::string& hints,
                        const ShownTimes& times) {
    std::vector<std::string> cells = {Format("{}: {}", name, HintsText(hints))};
    if (HasTimes(comparison)) {
      cells.push_back("run " + times.RunText(false));
      cells.push_back("ops " + TimeText(times.ops));
    }
    return cells;
  };
  const auto [a, b] = Shown(comparison);
  TextTable table("<>>", line("A", comparison.hints_a, a));
  table.Add(line("B", comparison.hints_b, b));
  for (std::string& run : table.Lines()) {
    report->head.push_back(WholeLine(std::move(run)));
  }
  const std::string places =
      Format("A runs at {}; B at {}", comparison.places_a, comparison.places_b);
  if (places.find("(emulated)") != std::string::npos) {
    report->head.push_back({places + "; times there are the CPU's"});
  }
  if (!HasTimes(comparison)) return;
  const bool busy = Busy(comparison.run_a) || Busy(comparison.run_b);
  report->head.push_back(
      WholeLine(ComparedText("B is ", comparison.b_over_a, comparison.run_b,
                             comparison.run_a) +
                (busy ? "; the machine was busy" : "")));
}

void AddErrors(const Comparison& comparison, ExplainTable* report) {
  const auto& ops = comparison.ops;
  if (comparison.first_difference < 0) {
    const bool equal = std::ranges::all_of(
        ops, [](const OpComparison& op) { return op.max_absolute_error == 0; });
    report->head.push_back(
        {equal ? "all results equal" : "all results within bound"});
    return;
  }
  const OpComparison& first = ops[comparison.first_difference];
  const auto count = std::ranges::count_if(ops, &OpComparison::differs);
  report->head.push_back(
      {Format("{} of {} {}; the first is #{} {}: {} under A, {} under B", count,
              Counted(ops.size(), "op"), count == 1 ? "DIFFERS" : "DIFFER",
              first.op_index, first.op, first.kernel_a, first.kernel_b),
       Emphasis::kBad});
  if (!first.message.empty()) report->head.push_back({"  " + first.message});
}

// Kernels that were not compared, although hints ask for them.
void AddKnownWrong(const Comparison& comparison, ExplainTable* report) {
  const auto& all = comparison.known_wrong;
  if (all.empty()) return;
  report->head.push_back(
      {Format("NOT COMPARED: hints ask for {}, which records call "
              "wrong; SLUICE_RECORDS=off compares them. The first: {}",
              Counted(all.size(), "kernel"), all.front()),
       Emphasis::kBad});
}

std::string ErrorText(const OpComparison& op) {
  if (op.differs) return "DIFFERS";
  if (op.max_absolute_error > 0) return "within bound";
  if (op.same) return "same";
  return op.kernel_a == "-" || op.kernel_b == "-" ? "" : "equal";
}

// Ops that passes inserted, of one type and with the same kernels, share a row.
struct CompareRow {
  OpComparison op;
  int count = 1;
  double change() const { return op.seconds_b - op.seconds_a; }
};

std::vector<CompareRow> RowsOf(const Comparison& comparison, bool all) {
  std::vector<CompareRow> rows;
  for (const OpComparison& op : comparison.ops) {
    if (op.same && !op.differs && !all) continue;
    const auto alike = std::ranges::find_if(rows, [&](const CompareRow& row) {
      return op.inserted && row.op.inserted && row.op.op == op.op &&
             row.op.kernel_a == op.kernel_a && row.op.kernel_b == op.kernel_b &&
             !row.op.differs && !op.differs;
    });
    if (all || alike == rows.end()) {
      rows.push_back({op});
      continue;
    }
    ++alike->count;
    alike->op.seconds_a += op.seconds_a;
    alike->op.seconds_b += op.seconds_b;
    alike->op.max_absolute_error =
        std::max(alike->op.max_absolute_error, op.max_absolute_error);
  }
  if (all) return rows;
  std::ranges::stable_sort(rows, [](const CompareRow& x, const CompareRow& y) {
    return std::abs(x.change()) > std::abs(y.change());
  });
  return rows;
}

std::vector<std::string> CellsOf(const CompareRow& row,
                                 const TimeUnit& unit,
                                 bool times,
                                 bool results) {
  const OpComparison& op = row.op;
  const double change = row.change();
  const std::string size = unit.Cell(std::abs(change));
  const bool small = size.empty() || size.starts_with('<');
  std::vector<std::string> cells = {
      Format("{}{}", op.inserted ? "+" : "", op.op_index),
      row.count > 1 ? Format("{} x{}", op.op, row.count) : op.op,
      op.kernel_a,
      op.kernel_b,
      times ? unit.Cell(op.seconds_a) : "",
      times ? unit.Cell(op.seconds_b) : "",
      small || !times ? "" : (change > 0 ? "+" : "-") + size};
  if (results) cells.push_back(ErrorText(op));
  return cells;
}

void AddOps(const Comparison& comparison, bool all, ExplainTable* report) {
  const auto others = static_cast<size_t>(
      std::ranges::count(comparison.ops, false, &OpComparison::same));
  const size_t same = comparison.ops.size() - others;
  report->head.push_back(WholeLine(Format(
      "{} of {} {} another kernel or layout", others,
      Counted(comparison.ops.size(), "op"), others == 1 ? "has" : "have")));
  const std::vector<CompareRow> rows = RowsOf(comparison, all);
  double longest = 0;
  for (const CompareRow& row : rows) {
    longest = std::max({longest, row.op.seconds_a, row.op.seconds_b});
  }
  const TimeUnit unit(longest);
  const std::string none = WhyNoOps(comparison);
  const bool times = none.empty();
  if (!times) report->head.push_back({none});
  // Where nothing differs, the first lines say all that a column would.
  const bool results = all || comparison.first_difference >= 0;
  if (!times && !results) return;
  size_t left_out = 0;
  double change = 0;
  for (const CompareRow& row : rows) {
    if (all || report->rows.size() < kMostRows || row.op.differs) {
      report->rows.push_back({CellsOf(row, unit, times, results),
                              row.op.differs ? Emphasis::kBad : Emphasis::kNone,
                              row.op.op_index});
    } else {
      left_out += static_cast<size_t>(row.count);
      change += row.change();
    }
  }
  if (!report->rows.empty()) {
    const auto name = [&](std::string_view plan) {
      return times ? Format("{} {}", plan, unit.name()) : "";
    };
    report->columns = {{"#", true},
                       {"op"},
                       {"A"},
                       {"B"},
                       {name("A"), true},
                       {name("B"), true},
                       {times ? "B - A" : "", true}};
    if (results) report->columns.push_back({"results"});
  }
  if (all) return;
  std::string rest;
  if (left_out > 0) {
    rest = Format("{} more with other kernels{}; ", left_out,
                  times ? Format(", {}{} together", change < 0 ? "-" : "",
                                 TimeText(std::abs(change)))
                        : "");
  }
  report->foot.push_back(
      {Format("... {}{} the same: {}", rest, Counted(same, "op"), ShowAll())});
}

}  // namespace

ExplainTable MakeTable(const Comparison& comparison, bool all) try {
  ExplainTable report;
  AddRuns(comparison, &report);
  AddErrors(comparison, &report);
  AddKnownWrong(comparison, &report);
  AddOps(comparison, all, &report);
  return report;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const Comparison& comparison, bool all) try {
  constexpr size_t kNames = 16;  // of kernels are not cut
  return ReportText(MakeTable(comparison, all), kNames);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
