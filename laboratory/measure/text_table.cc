#include "sluice/laboratory/measure/text_table.h"

#include <algorithm>
#include <numeric>

#include "sluice/framework/inspect/json_writer.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr size_t kGap = 2;

std::string CutInTheMiddle(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  const size_t head = (width - 2) / 2;
  return text.substr(0, head) + ".." +
         text.substr(text.size() - (width - 2 - head));
}

}  // namespace

std::vector<std::string> TextTable::Lines(size_t width, size_t least) const {
  std::vector<size_t> widths(align_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  // The last column is not padded, but its cells have to fit as well.
  while (std::accumulate(widths.begin(), widths.end(),
                         kGap * (widths.size() - 1)) > width) {
    size_t widest = align_.find('<');
    for (size_t i = widest; i < widths.size(); ++i) {
      if (align_[i] == '<' && widths[i] > widths[widest]) widest = i;
    }
    if (widths[widest] <= least) break;
    --widths[widest];
  }
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(i == 0 ? 0 : kGap, ' ');
      const std::string cell = CutInTheMiddle(row[i], widths[i]);
      const std::string pad(widths[i] - cell.size(), ' ');
      line += gap;
      line += align_[i] == '<' ? cell : pad;
      line += align_[i] == '<' ? pad : cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::string TextTable::Text(size_t width, size_t least) const {
  std::string text;
  for (const std::string& line : Lines(width, least)) {
    text += line + '\n';
  }
  return text;
}

std::string Wrapped(std::string_view text, size_t first, size_t other) {
  std::string wrapped;
  std::string line(first, ' ');
  const auto flush = [&] {
    wrapped += line + '\n';
    line.assign(other, ' ');
  };
  size_t start = first;  // of the words of this line
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool begun = line.size() > start;
    if (begun && line.size() + 1 + word.size() > kTextWidth) {
      flush();
      start = other;
    } else if (begun) {
      line += ' ';
    }
    while (line.size() + word.size() > kTextWidth) {
      const size_t fits = kTextWidth - line.size();
      line += word.substr(0, fits);
      word.remove_prefix(fits);
      flush();
      start = other;
    }
    line += word;
  }
  if (line.size() > start) flush();
  return wrapped;
}

ExplainLine WholeLine(std::string text) {
  return {std::move(text), Emphasis::kNone, true};
}

std::string ReportText(const ExplainTable& report, size_t least) {
  std::string text;
  const auto add = [&](const std::vector<ExplainLine>& lines) {
    for (const ExplainLine& line : lines) {
      const std::string_view all = line.text;
      const size_t indent = std::min(all.find_first_not_of(' '), all.size());
      text += line.whole ? line.text + '\n'
                         : Wrapped(all.substr(indent), indent, indent + 2);
    }
  };
  add(report.head);
  if (!report.columns.empty()) {
    std::string align;
    std::vector<std::string> heading;
    for (const ExplainColumn& column : report.columns) {
      align += column.right ? '>' : '<';
      heading.push_back(column.name);
    }
    TextTable table(align, std::move(heading));
    for (const ExplainRow& row : report.rows) {
      table.Add(row.cells);
    }
    text += "\n" + table.Text(kTextWidth, least);
  }
  add(report.foot);
  return text;
}

std::string ReportJson(const ExplainTable& report) {
  JsonWriter json;
  json.BeginObject();
  WriteJson(report, &json);
  json.EndObject();
  return json.text();
}

}  // namespace sluice
