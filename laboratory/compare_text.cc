#include <algorithm>
#include <cmath>
#include <new>

#include "sluice/laboratory/compare.h"
#include "sluice/laboratory/measure/race_judge.h"
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

std::string RunsText(const Comparison& comparison) {
  const auto line = [&](const char* name, const std::string& hints,
                        const Timing& run) {
    return std::vector<std::string>{
        Format("{}: {}", name, HintsText(hints)),
        HasTimes(comparison) ? TimeText(run) + " a run" : ""};
  };
  TextTable table("<<", line("A", comparison.hints_a, comparison.run_a));
  table.Add(line("B", comparison.hints_b, comparison.run_b));
  std::string text = table.Text();
  if (!HasTimes(comparison)) return text;
  text += Apart(comparison.b_over_a)
              ? "B is " + RatioText(comparison.b_over_a)
              : "no difference that can be told from noise";
  const int runs = std::min(comparison.run_a.rounds, comparison.run_b.rounds);
  text += Format(" ({} each, in turns)\n", Counted(runs, "run"));
  for (const Timing* run : {&comparison.run_a, &comparison.run_b}) {
    if (Busy(*run)) return text + BusyText(*run) + "\n";
  }
  return text;
}

std::string ErrorsText(const Comparison& comparison) {
  const auto& ops = comparison.ops;
  if (comparison.first_difference < 0) {
    const bool equal = std::ranges::all_of(
        ops, [](const OpComparison& op) { return op.max_absolute_error == 0; });
    return equal ? "all results equal\n" : "all results within bound\n";
  }
  const OpComparison& first = ops[comparison.first_difference];
  const auto count = std::ranges::count_if(ops, &OpComparison::differs);
  std::string text = Wrapped(
      Format("{} of {} {}; the first is {} {}: {} under A, {} under B", count,
             Counted(ops.size(), "op"), count == 1 ? "DIFFERS" : "DIFFER",
             first.op_index, first.op, first.kernel_a, first.kernel_b));
  if (!first.message.empty()) text += Wrapped(first.message, 2, 4);
  return text;
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
                                 bool results) {
  const OpComparison& op = row.op;
  const double change = row.change();
  const std::string size = unit.Cell(std::abs(change));
  const bool small = size.empty() || size.starts_with('<');
  std::vector<std::string> cells = {
      op.inserted ? "+" : std::to_string(op.op_index),
      row.count > 1 ? Format("{} x{}", op.op, row.count) : op.op,
      op.kernel_a,
      op.kernel_b,
      unit.Cell(op.seconds_a),
      unit.Cell(op.seconds_b),
      small ? "" : (change > 0 ? "+" : "-") + size};
  if (results) cells.push_back(ErrorText(op));
  return cells;
}

std::string OpsText(const Comparison& comparison, bool all) {
  const auto others = static_cast<size_t>(
      std::ranges::count(comparison.ops, false, &OpComparison::same));
  const size_t same = comparison.ops.size() - others;
  std::string text = Format("{} of {} {} another kernel or layout\n", others,
                            Counted(comparison.ops.size(), "op"),
                            others == 1 ? "has" : "have");
  const std::vector<CompareRow> rows = RowsOf(comparison, all);
  double longest = 0;
  for (const CompareRow& row : rows) {
    longest = std::max({longest, row.op.seconds_a, row.op.seconds_b});
  }
  const TimeUnit unit(longest);
  // Where nothing differs, the first lines say all that a column would.
  const bool results = all || comparison.first_difference >= 0;
  std::vector<std::string> heading = {"#",
                                      "op",
                                      "A",
                                      "B",
                                      Format("A {}", unit.name()),
                                      Format("B {}", unit.name()),
                                      "B - A"};
  if (results) heading.emplace_back("results");
  TextTable table("><<<>>><", std::move(heading));
  size_t left_out = 0;
  double change = 0;
  for (const CompareRow& row : rows) {
    if (all || table.size() < kMostRows || row.op.differs) {
      table.Add(CellsOf(row, unit, results));
    } else {
      left_out += static_cast<size_t>(row.count);
      change += row.change();
    }
  }
  // Names of kernels are not cut.
  if (table.size() > 0) text += "\n" + table.Text(kTextWidth, 16);
  if (all) return text;
  std::string rest;
  if (left_out > 0) {
    rest = Format("{} more with other kernels, {}{} together; ", left_out,
                  change < 0 ? "-" : "", TimeText(std::abs(change)));
  }
  return text + Wrapped(Format("... {}{} the same: --all, print(result.all)",
                               rest, Counted(same, "op")));
}

}  // namespace

std::string ToString(const Comparison& comparison, bool all) try {
  return RunsText(comparison) + ErrorsText(comparison) +
         OpsText(comparison, all);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
