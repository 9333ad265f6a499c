#include <algorithm>
#include <new>

#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/inspect/explain_values.h"
#include "sluice/framework/inspect/json_writer.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

std::string_view ColourOf(Emphasis emphasis) {
  constexpr std::string_view kCodes[] = {"", "\033[1m", "\033[2m", "\033[31m",
                                         "\033[33m"};
  return kCodes[static_cast<int>(emphasis)];
}

std::string Coloured(const std::string& text, Emphasis emphasis, bool colour) {
  return !colour || emphasis == Emphasis::kNone
             ? text
             : Format("{}{}\033[0m", ColourOf(emphasis), text);
}

// Breaks a line at blanks so that no part exceeds `width`, except for a single
// word; later parts are indented.
std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  const std::string indent(
      std::min(text.find_first_not_of(' '), text.size()) + 2, ' ');
  while (!text.empty()) {
    const size_t start = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    if (lines.back().size() + end <= width || lines.back().empty()) {
      lines.back() += text.substr(0, end);
    } else if (!word.empty()) {
      lines.push_back(indent + std::string(word));
    }
    text.remove_prefix(end);
  }
  return lines;
}

class TextWriter {
 public:
  TextWriter(const ExplainTable& table, const ExplainOptions& options)
      : table_(table), options_(options) {}

  std::string Write() {
    WriteLines(table_.head);
    if (!table_.rows.empty()) {
      text_ += '\n';
      WriteRows();
      if (!table_.foot.empty()) text_ += '\n';
    }
    WriteLines(table_.foot);
    return text_;
  }

 private:
  void WriteLines(const std::vector<ExplainLine>& lines) {
    for (const ExplainLine& line : lines) {
      if (line.whole) {
        text_ += Coloured(line.text, line.emphasis, options_.colour) + "\n";
      } else {
        WriteLine(line.text, line.emphasis);
      }
    }
  }

  void WriteLine(const std::string& line, Emphasis emphasis) {
    for (const std::string& part :
         Wrapped(line, static_cast<size_t>(options_.width))) {
      text_ += Coloured(part, emphasis, options_.colour) + "\n";
    }
  }

  void WriteRows() {
    std::vector<size_t> widths;
    std::vector<std::string> names;
    for (const ExplainColumn& column : table_.columns) {
      widths.push_back(column.name.size());
      names.push_back(column.name);
    }
    for (const ExplainRow& row : table_.rows) {
      if (row.cells.size() != widths.size()) continue;
      for (size_t i = 0; i < widths.size(); ++i) {
        widths[i] = std::max(widths[i], row.cells[i].size());
      }
    }
    WriteRow(names, widths, Emphasis::kFaint);
    for (const ExplainRow& row : table_.rows) {
      WriteRow(row.cells, widths, row.emphasis);
    }
  }

  void WriteRow(const std::vector<std::string>& cells,
                const std::vector<size_t>& widths,
                Emphasis emphasis) {
    if (cells.size() != widths.size()) {
      return WriteLine(cells[0], emphasis);
    }
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      line += table_.columns[i].right ? Format("{:>{}}  ", cells[i], widths[i])
                                      : Format("{:<{}}  ", cells[i], widths[i]);
    }
    line = Utf8Prefix(line, static_cast<size_t>(options_.width));
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += Coloured(line, emphasis, options_.colour) + "\n";
  }

  const ExplainTable& table_;
  const ExplainOptions& options_;
  std::string text_;
};

void WriteLinesAsJson(std::string_view key,
                      const std::vector<ExplainLine>& lines,
                      JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const ExplainLine& line : lines) {
    json->BeginObject();
    json->Field("text", line.text);
    json->Field("emphasis", ToString(line.emphasis));
    json->EndObject();
  }
  json->EndArray();
}

void WriteCall(const PlanCall& call, JsonWriter* json) {
  json->BeginObject();
  json->Field("op", call.number);
  json->Field("name", call.name);
  json->Field("kernel", KernelName(*call.chosen->kernel));
  json->Field("library", call.chosen->kernel->key.library);
  json->Field("place", ToString(call.decision->place));
  json->Field("dtype", ToString(call.chosen->kernel->key.dtype));
  json->Field("seconds", call.seconds());
  json->Field("evidence", ToString(call.chosen->evidence));
  if (call.next != nullptr) {
    json->Field("next", KernelName(*call.next->kernel));
    json->Field("next_seconds", call.next->seconds);
  }
  json->Field("moved_bytes", call.moved_bytes);
  json->Field("reason", NameOf(call.decision->why.reason));
  json->Field("why", call.why);
  json->Field("put_in", call.put_in);
  json->Field("purpose", PurposeName(call.purpose));
  json->EndObject();
}

}  // namespace

std::string ToString(const ExplainTable& table, const ExplainOptions& options) {
  return TextWriter(table, options).Write();
}

void WriteJson(const ExplainTable& table, JsonWriter* json) {
  WriteLinesAsJson("head", table.head, json);
  json->Key("columns");
  json->BeginArray();
  for (const ExplainColumn& column : table.columns) {
    json->BeginObject();
    json->Field("name", column.name);
    json->Field("right", column.right);
    json->EndObject();
  }
  json->EndArray();
  json->Key("rows");
  json->BeginArray();
  for (const ExplainRow& row : table.rows) {
    json->BeginObject();
    json->Field("cells", row.cells);
    json->Field("emphasis", ToString(row.emphasis));
    json->Field("op", row.op);
    json->EndObject();
  }
  json->EndArray();
  WriteLinesAsJson("foot", table.foot, json);
}

namespace {

ExplainTable TableOf(const Plan& plan, const ExplainOptions& options) {
  SLUICE_ENFORCE(options.width >= 40, ErrorCode::kInvalidArgument,
                 "explain.width", "Explain: width = {}; expected 40 or more",
                 options.width);
  return options.op >= 0 ? MakeOpTable(plan, options)
         : options.all   ? MakeWholeTable(plan, options)
                         : MakeExplainTable(plan, options);
}

}  // namespace

std::string Explain(const Plan& plan, const ExplainOptions& options) try {
  return ToString(TableOf(plan, options), options);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ExplainTableJson(const Plan& plan,
                             const ExplainOptions& options) try {
  JsonWriter json;
  json.BeginObject();
  json.Field("name", options.title);
  WriteJson(TableOf(plan, options), &json);
  json.Key("calls");
  json.BeginArray();
  for (const PlanCall& call : CallsOf(plan)) {
    WriteCall(call, &json);
  }
  json.EndArray();
  json.EndObject();
  return json.text();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
