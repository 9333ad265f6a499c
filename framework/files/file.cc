#include "sluice/framework/files/file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

// The system would use only the part before the zero byte.
const std::string& WithoutNul(const std::string& path) {
  SLUICE_ENFORCE(path.find('\0') == path.npos, ErrorCode::kInvalidArgument,
                 "file.path_nul", "{} is no path: it has a zero byte",
                 Shown(path));
  return path;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Returns the file that `path` refers to: the target of symbolic links, even if
// it does not exist yet. Raises InvalidArgument for anything but a regular
// file, which renaming would replace.
std::string RegularFile(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // same as Linux
  std::error_code error;
  fs::path file = path;
  for (int links = 0; fs::is_symlink(file, error); ++links) {
    const fs::path target = fs::read_symlink(file, error);
    SLUICE_ENFORCE(!error && links < kMostLinks, ErrorCode::kInvalidArgument,
                   "file.links",
                   "cannot write {}: its symbolic links lead "
                   "nowhere",
                   path);
    file = target.is_absolute() ? target : file.parent_path() / target;
  }
  const fs::file_status status = fs::status(file, error);
  SLUICE_ENFORCE(!fs::exists(status) || fs::is_regular_file(status),
                 ErrorCode::kInvalidArgument, "file.not_regular",
                 "cannot write {}: it is no regular file, but a folder, a "
                 "device, a pipe or a socket",
                 path);
  return file.string();
}

// Returns the permission bits of the file at `path`, or nothing without a file.
std::optional<mode_t> Permissions(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode & 0777;
}

}  // namespace

class FileReplacement::Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0)
      : number_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

  bool Write(std::string_view bytes) const {
    while (!bytes.empty()) {
      if (CancelRequested()) {
        errno = ECANCELED;
        return false;
      }
      const size_t piece = std::min(bytes.size(), kPiece);
      const ssize_t written = write(number_, bytes.data(), piece);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

  // Returns false when another process holds the lock. File systems without
  // locks always succeed.
  bool TryLock() const {
    while (flock(number_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EINTR) return errno != EWOULDBLOCK;
    }
    return true;
  }

  off_t Size() const {
    struct stat status {};
    return fstat(number_, &status) == 0 ? status.st_size : -1;
  }

  // Returns whether this is the file at `path`.
  bool IsAt(const std::string& path) const {
    struct stat own {};
    struct stat there {};
    return fstat(number_, &own) == 0 && stat(path.c_str(), &there) == 0 &&
           own.st_ino == there.st_ino && own.st_dev == there.st_dev;
  }

  bool WriteAll(const std::vector<std::string_view>& parts) const {
    // A writer that was killed may have left some data.
    if (ftruncate(number_, 0) != 0) return false;
    for (const std::string_view part : parts) {
      if (!Write(part)) return false;
    }
    return fsync(number_) == 0;
  }

 private:
  // Bytes that are written between two checks for cancellation.
  static constexpr size_t kPiece = size_t{1} << 26;

  int number_;
};

FileReplacement::FileReplacement(const std::string& path,
                                 double patience_seconds)
    : path_(RegularFile(WithoutNul(path))),
      temporary_(path_ + ".saving"),
      mode_(Permissions(path_)) {
  do {
    file_ = std::make_unique<Descriptor>(
        temporary_, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
        mode_.value_or(0666));
    if (!file_->is_open()) {
      Raise(ErrorCode::kNotFound, "file.create", "cannot create {}: {}",
            temporary_, std::strerror(errno));
    }
    Lock(patience_seconds);
    // Another writer may have renamed the file meanwhile.
  } while (!file_->IsAt(temporary_));
}

FileReplacement::~FileReplacement() {
  if (!written_) unlink(temporary_.c_str());
}

void FileReplacement::Lock(double patience_seconds) {
  using Clock = std::chrono::steady_clock;
  off_t size = -1;
  Clock::time_point last_change = Clock::now();
  while (!file_->TryLock()) {
    CheckCancelled();
    if (const off_t now = file_->Size(); now != size) {
      size = now;
      last_change = Clock::now();
    }
    const std::chrono::duration<double> idle = Clock::now() - last_change;
    SLUICE_ENFORCE(idle.count() < patience_seconds,
                   ErrorCode::kFailedPrecondition, "file.locked",
                   "cannot write {}: another process holds the lock of {}, and "
                   "has written nothing to it for {} seconds",
                   path_, temporary_, patience_seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void FileReplacement::Write(const std::vector<std::string_view>& parts) {
  // Sets the old file's permissions, whatever the umask or a file left by a
  // killed writer. Some file systems have no permissions.
  if (mode_) static_cast<void>(fchmod(file_->number(), *mode_));
  written_ =
      file_->WriteAll(parts) && rename(temporary_.c_str(), path_.c_str()) == 0;
  SLUICE_ENFORCE(written_, ErrorCode::kResourceExhausted, "file.write",
                 "cannot write {}: {}", path_, std::strerror(errno));
  // Syncing the folder makes the new name survive a power cut.
  fsync(Descriptor(FolderOf(path_), O_RDONLY | O_DIRECTORY).number());
}

bool FileReplacement::IsInPlace() const {
  return file_->IsAt(path_);
}

void ReplaceFile(const std::string& path,
                 const std::vector<std::string_view>& parts) {
  FileReplacement(path).Write(parts);
}

InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(
          open(WithoutNul(path_).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  const int error = errno;
  struct stat status {};
  const bool regular = descriptor_ >= 0 && fstat(descriptor_, &status) == 0 &&
                       S_ISREG(status.st_mode);
  if (!regular) {
    const bool opened = descriptor_ >= 0;
    if (opened) close(descriptor_);
    Raise(ErrorCode::kNotFound, "file.open", "cannot open {}: {}", path_,
          opened ? "it is no file" : std::strerror(error));
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  close(descriptor_);
}

size_t InputFile::ReadSome(void* to, size_t count) const {
  while (true) {
    const ssize_t got = read(descriptor_, to, count);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    Raise(ErrorCode::kNotFound, "file.read", "cannot read {}: {}", path_,
          std::strerror(errno));
  }
}

void InputFile::Read(void* to, size_t count) {
  char* next = static_cast<char*>(to);
  while (count > 0) {
    const size_t got = ReadSome(next, count);
    if (got == 0) {
      Raise(ErrorCode::kDataLoss, "file.ends",
            "{} ends {} bytes too early: it was cut off", path_, count);
    }
    next += got;
    count -= got;
  }
}

std::string InputFile::ReadAll() {
  std::string bytes;
  char buffer[1 << 16];
  while (const size_t got = ReadSome(buffer, sizeof(buffer))) {
    bytes.append(buffer, got);
  }
  return bytes;
}

}  // namespace sluice
