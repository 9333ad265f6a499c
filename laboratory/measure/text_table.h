#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/platform/export.h"

// Text for a terminal of 80 columns.
namespace sluice {

constexpr size_t kTextWidth = 80;

// A table whose columns are as wide as their widest cells, with two spaces
// between. If a line would be longer than the text may be, the widest columns
// on the left become narrower, and their cells are cut in the middle, since
// names of ops differ at their ends: "softmax_with_..entropy_grad".
class SLUICE_API TextTable {
 public:
  // `align` has a character a column: '<' for text, '>' for figures.
  TextTable(std::string_view align, std::vector<std::string> heading)
      : align_(align), rows_{std::move(heading)} {}

  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  size_t size() const { return rows_.size() - 1; }
  // No column is cut to fewer than `least` characters, even if lines are then
  // longer than `width`.
  std::vector<std::string> Lines(size_t width = kTextWidth,
                                 size_t least = 8) const;
  // The lines, each with a newline.
  std::string Text(size_t width = kTextWidth, size_t least = 8) const;

 private:
  std::string align_;
  std::vector<std::vector<std::string>> rows_;
};

// The text in lines of at most kTextWidth columns, broken at spaces, the first
// and the other lines indented by as many spaces; ends in a newline.
SLUICE_API std::string Wrapped(std::string_view text,
                               size_t first = 0,
                               size_t other = 2);

// A line that ReportText does not break.
SLUICE_API ExplainLine WholeLine(std::string text);

// What the laboratory found out, as text: the lines above the table, an empty
// line, the table as a TextTable whose columns are cut to `least` characters at
// most, and the lines below it. Without columns there is no table. Lines that
// are too long are broken; those that begin with spaces stay indented.
SLUICE_API std::string ReportText(const ExplainTable& report, size_t least = 8);
// The same as JSON, in which no cell is cut; WriteJson has the fields.
SLUICE_API std::string ReportJson(const ExplainTable& report);

}  // namespace sluice
