#include "sluice/laboratory/records/line_file.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

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

}  // namespace

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

void WaitForWriters(const InputFile& file, double patience_seconds) {
  const double deadline = ClockSeconds() + patience_seconds;
  Lock(file.descriptor(), LOCK_SH, deadline);
}

}  // namespace sluice
