#include "sluice/framework/measure/record_file.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "sluice/framework/files/file.h"
#include "sluice/framework/measure/checked_line.h"
#include "sluice/framework/measure/line_file.h"
#include "sluice/platform/error.h"

namespace sluice::framework {
namespace {

constexpr double kReadPatience = 2;
constexpr double kWritePatience = 5;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr int kFewLines = 100;

// A file's content, and what is kept of it without being understood.
struct Parsed {
  RecordFileContent content;
  std::vector<std::string> foreign;
};

void ParseLine(std::string_view line, Parsed& parsed) {
  RecordFileContent& content = parsed.content;
  ++content.lines;
  std::string object;
  const LineState state = OpenLine(line, &object);
  if (state == LineState::kOtherVersion) {
    ++content.other_version;
    parsed.foreign.emplace_back(line);
    return;
  }
  if (state == LineState::kWhole) {
    if (auto record = RecordFromJson(object)) {
      content.records.push_back(*std::move(record));
      return;
    }
    if (auto figures = FiguresFromJson(object)) {
      content.figures.push_back(*std::move(figures));
      return;
    }
  }
  ++content.damaged;
}

Parsed Parse(std::string_view text) {
  Parsed parsed;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) ParseLine(text.substr(0, end), parsed);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parsed;
}

void CheckSize(const std::string& path, const InputFile& file) {
  if (file.size() <= kMostBytes) return;
  platform::Raise(platform::ErrorCode::kResourceExhausted, "record_file.large",
                  "{} has {} bytes, a record file has at most {}", path,
                  file.size(), kMostBytes);
}

std::string ReadText(const std::string& path) {
  InputFile file(path);
  CheckSize(path, file);
  WaitForWriters(file, kReadPatience);
  return file.ReadAll();
}

std::string LeftOut(const std::string& path, const RecordFileContent& content) {
  if (content.damaged == 0 && content.other_version == 0) return "";
  return platform::Format(
      "{}: of {} lines, {} are damaged and {} were written in another format; "
      "they are left out",
      path, content.lines, content.damaged, content.other_version);
}

std::vector<MachineFigures> NewestFigures(std::vector<MachineFigures> all) {
  std::map<std::pair<std::string, int>, size_t> places;
  std::vector<MachineFigures> newest;
  for (MachineFigures& figures : all) {
    const auto [found, added] = places.try_emplace(
        std::pair(figures.machine, figures.threads), newest.size());
    if (added) {
      newest.push_back(std::move(figures));
    } else if (figures.date >= newest[found->second].date) {
      newest[found->second] = std::move(figures);
    }
  }
  return newest;
}

}  // namespace

RecordFileContent ReadRecordFile(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 && errno == ENOENT) return {};
  RecordFileContent content;
  try {
    content = Parse(ReadText(path)).content;
    content.remark = LeftOut(path, content);
  } catch (const platform::Error& error) {
    content.remark = std::string("records are not read: ") + error.what();
  } catch (const std::bad_alloc&) {
    content.remark = "records are not read: there is no memory for " + path;
  }
  return content;
}

void AppendToRecordFile(const std::string& path,
                        std::span<const Record> records,
                        std::span<const MachineFigures> figures) {
  std::string lines;
  for (const Record& record : records) {
    lines += SealLine(RecordToJson(record));
  }
  for (const MachineFigures& one : figures) {
    lines += SealLine(FiguresToJson(one));
  }
  if (lines.empty()) return;
  LockedLineFile(path, kWritePatience).Append(lines);
}

bool CompactRecordFile(const std::string& path) {
  const LockedLineFile locked(path, kWritePatience);
  InputFile file(path);
  CheckSize(path, file);
  Parsed parsed = Parse(file.ReadAll());
  RecordFileContent& content = parsed.content;
  const std::vector<Record> records = MergeRecords(std::move(content.records));
  const std::vector<MachineFigures> figures =
      NewestFigures(std::move(content.figures));
  const int kept =
      static_cast<int>(records.size() + figures.size() + parsed.foreign.size());
  const int superseded = content.lines - kept;
  if (superseded <= kFewLines || 2 * superseded <= content.lines) return false;
  std::string text;
  for (const Record& record : records) {
    text += SealLine(RecordToJson(record));
  }
  for (const MachineFigures& one : figures) {
    text += SealLine(FiguresToJson(one));
  }
  for (const std::string& line : parsed.foreign) {
    text += line + '\n';
  }
  ReplaceFile(path, {text});
  return true;
}

}  // namespace sluice::framework
