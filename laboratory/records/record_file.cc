#include "sluice/laboratory/records/record_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/framework/files/file.h"
#include "sluice/laboratory/measure/machine_measurement.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/records/checked_line.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

constexpr double kReadPatience = 2;
constexpr double kWritePatience = 5;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr int kFewLines = 100;

// Returns false if another process keeps the lock until `deadline`.
bool Lock(int descriptor, int kind, double deadline) {
  while (flock(descriptor, kind | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;  // a file system without locks
    if (ClockSeconds() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool IsStillThere(const struct stat& own, const std::string& path) {
  struct stat there {};
  return stat(path.c_str(), &there) == 0 && own.st_ino == there.st_ino &&
         own.st_dev == there.st_dev;
}

// A text file that several processes append to, open and locked; used by one
// thread. The lock is on the file itself. If another process has replaced the
// file meanwhile, it is opened again, so that no line goes to the deleted one.
// Errors name the path.
class LockedLineFile {
 public:
  // Creates the file if it is missing. Raises InvalidArgument if it is not a
  // regular file, and FailedPrecondition if it cannot be opened for reading and
  // writing or stays locked for `patience_seconds`.
  LockedLineFile(std::string path, double patience_seconds);
  ~LockedLineFile();
  LockedLineFile(const LockedLineFile&) = delete;
  LockedLineFile& operator=(const LockedLineFile&) = delete;

  // Writes whole lines, newlines included, with one call. First ends a line
  // that a killed writer left unfinished. Raises ResourceExhausted on failure,
  // and leaves the file unchanged.
  void Append(std::string_view lines);

 private:
  std::string path_;
  int descriptor_ = -1;
};

LockedLineFile::LockedLineFile(std::string path, double patience_seconds)
    : path_(std::move(path)) {
  const double deadline = ClockSeconds() + patience_seconds;
  while (true) {
    descriptor_ =
        open(path_.c_str(),
             O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    const int error = errno;
    struct stat status {};
    const bool open = descriptor_ >= 0 && fstat(descriptor_, &status) == 0;
    const bool regular = open && S_ISREG(status.st_mode);
    const bool locked = regular && Lock(descriptor_, LOCK_EX, deadline);
    if (locked && IsStillThere(status, path_)) return;
    if (descriptor_ >= 0) close(descriptor_);
    if (locked && ClockSeconds() < deadline) continue;
    if (!open) {
      Raise(ErrorCode::kFailedPrecondition, "line_file.open",
            "cannot write records to {}: {}", path_, std::strerror(error));
    }
    if (!regular) {
      Raise(ErrorCode::kInvalidArgument, "line_file.not_regular",
            "cannot write records to {}: expected a regular file, "
            "got a device, a pipe or a socket",
            path_);
    }
    Raise(ErrorCode::kFailedPrecondition, "line_file.locked",
          "cannot write records to {}: another process has kept it "
          "locked for {} seconds",
          path_, patience_seconds);
  }
}

LockedLineFile::~LockedLineFile() {
  close(descriptor_);
}

void LockedLineFile::Append(std::string_view lines) {
  struct stat status {};
  const bool known = fstat(descriptor_, &status) == 0;
  char last = '\n';
  if (known && status.st_size > 0) {
    static_cast<void>(!pread(descriptor_, &last, 1, status.st_size - 1));
  }
  std::string bytes(last == '\n' ? "" : "\n");
  bytes += lines;
  ssize_t written = 0;
  do {
    written = write(descriptor_, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(bytes.size())) return;
  const int error = written < 0 ? errno : ENOSPC;
  const bool undone =
      written <= 0 || (known && ftruncate(descriptor_, status.st_size) == 0);
  Raise(ErrorCode::kResourceExhausted, "line_file.write",
        "cannot write records to {}: {}{}", path_, std::strerror(error),
        undone ? "" : "; the last line is incomplete");
}

// Waits for a writer of this open file, at most `patience_seconds`. Does not
// wait if files cannot be locked.
void WaitForWriters(const InputFile& file, double patience_seconds) {
  const double deadline = ClockSeconds() + patience_seconds;
  Lock(file.descriptor(), LOCK_SH, deadline);
}

// The op of a record's line, as RecordToJson writes it; "" for other lines.
std::string_view OpOf(std::string_view line) {
  constexpr std::string_view kBefore = R"(,"kind":"record","op":")";
  const size_t before = line.find(kBefore);
  if (before == std::string_view::npos) return "";
  line.remove_prefix(before + kBefore.size());
  return line.substr(0, std::min(line.find('"'), line.size()));
}

void SortLine(std::string_view line, RecordLines& sorted) {
  ++sorted.lines;
  const LineState state = CheckLine(line);
  if (state == LineState::kOtherVersion) {
    sorted.foreign.push_back(line);
    return;
  }
  if (state == LineState::kWhole) {
    const std::string_view op = OpOf(line);
    if (!op.empty()) {
      sorted.by_op[op].push_back(line);
      return;
    }
    if (auto figures = FiguresFromJson(ObjectOf(line))) {
      sorted.figures.push_back(*std::move(figures));
      return;
    }
  }
  ++sorted.damaged;
}

RecordLines SortLines(std::string text) {
  RecordLines sorted;
  sorted.text = std::make_unique<const std::string>(std::move(text));
  std::string_view rest = *sorted.text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) SortLine(rest.substr(0, end), sorted);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return sorted;
}

void CheckSize(const std::string& path, const InputFile& file) {
  if (file.size() <= kMostBytes) return;
  Raise(ErrorCode::kResourceExhausted, "record_file.large",
        "{} has {} bytes, a record file has at most {}", path, file.size(),
        kMostBytes);
}

std::string ReadText(const std::string& path) {
  InputFile file(path);
  CheckSize(path, file);
  WaitForWriters(file, kReadPatience);
  return file.ReadAll();
}

std::string LeftOut(const RecordLines& lines) {
  if (lines.damaged == 0 && lines.foreign.empty()) return "";
  return Format(
      "{}: of {} lines, {} are damaged and {} were written in another format; "
      "they are left out",
      lines.path, lines.lines, lines.damaged, lines.foreign.size());
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

RecordLines ReadRecordLines(const std::string& path) {
  RecordLines lines;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 && errno == ENOENT) return lines;
  try {
    lines = SortLines(ReadText(path));
    lines.path = path;
    lines.remark = LeftOut(lines);
  } catch (const Error& error) {
    lines.remark = std::string("records are not read: ") + error.what();
  } catch (const std::bad_alloc&) {
    lines.remark = "records are not read: there is no memory for " + path;
  }
  return lines;
}

std::vector<Record> RecordsOf(const RecordLines& lines,
                              std::string_view op,
                              int* damaged) {
  std::vector<Record> records;
  const auto found = lines.by_op.find(op);
  if (found == lines.by_op.end()) return records;
  for (const std::string_view line : found->second) {
    if (auto record = RecordFromJson(ObjectOf(line))) {
      records.push_back(*std::move(record));
    } else if (damaged != nullptr) {
      ++*damaged;
    }
  }
  return records;
}

std::vector<Record> AllRecords(const RecordLines& lines, int* damaged) {
  std::vector<Record> records;
  for (const auto& [op, unused] : lines.by_op) {
    for (Record& record : RecordsOf(lines, op, damaged)) {
      records.push_back(std::move(record));
    }
  }
  return records;
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
  const RecordLines lines = SortLines(file.ReadAll());
  const std::vector<Record> records = MergeRecords(AllRecords(lines));
  const std::vector<MachineFigures> figures = NewestFigures(lines.figures);
  const int kept =
      static_cast<int>(records.size() + figures.size() + lines.foreign.size());
  const int superseded = lines.lines - kept;
  if (superseded <= kFewLines || 2 * superseded <= lines.lines) return false;
  std::string text;
  for (const Record& record : records) {
    text += SealLine(RecordToJson(record));
  }
  for (const MachineFigures& one : figures) {
    text += SealLine(FiguresToJson(one));
  }
  for (const std::string_view line : lines.foreign) {
    text += line;
    text += '\n';
  }
  ReplaceFile(path, {text});
  return true;
}

}  // namespace sluice
