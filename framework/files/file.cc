#include "sluice/framework/files/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::framework {

using platform::ErrorCode;

namespace {

// The system would take the part before it for the path.
const std::string& WithoutNul(const std::string& path) {
  SLUICE_ENFORCE(path.find('\0') == path.npos, ErrorCode::kInvalidArgument,
                 "file.path_nul", "{} is no path: it has a zero byte",
                 platform::Shown(path));
  return path;
}

class Descriptor {
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
      const ssize_t written = write(number_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

 private:
  int number_;
};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Waits for other writers. False when one of them has renamed the file away
// meanwhile. Where files cannot be locked nobody waits.
bool LockedInPlace(const Descriptor& file, const std::string& path) {
  while (flock(file.number(), LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat own {};
  struct stat there {};
  return fstat(file.number(), &own) == 0 && stat(path.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

bool WriteAll(const Descriptor& file,
              const std::vector<std::string_view>& parts) {
  // A writer that was killed may have left something.
  if (ftruncate(file.number(), 0) != 0) return false;
  for (const std::string_view part : parts) {
    if (!file.Write(part)) return false;
  }
  return fsync(file.number()) == 0;
}

// The file that `path` means: what symbolic links point to, also where that is
// not there yet. Raises InvalidArgument for anything else than a regular file,
// which renaming would put an end to.
std::string RegularFile(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as Linux has it
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

// What chmod has made of the file at `path`; nothing where there is none.
std::optional<mode_t> Permissions(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode & 0777;
}

}  // namespace

void ReplaceFile(const std::string& wanted,
                 const std::vector<std::string_view>& parts) {
  const std::string path = RegularFile(WithoutNul(wanted));
  const std::string temporary = path + ".saving";
  const std::string folder = FolderOf(path);
  const std::optional<mode_t> mode = Permissions(path);
  while (true) {
    const Descriptor file(temporary,
                          O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                          mode.value_or(0666));
    if (!file.is_open()) {
      platform::Raise(ErrorCode::kNotFound, "file.create",
                      "cannot create {}: {}", temporary, std::strerror(errno));
    }
    if (!LockedInPlace(file, temporary)) continue;
    // The umask has no say in what was decided before, nor has a file that a
    // killed writer left. Some file systems know no permissions.
    if (mode) static_cast<void>(fchmod(file.number(), *mode));
    const bool saved =
        WriteAll(file, parts) && rename(temporary.c_str(), path.c_str()) == 0;
    const int error = errno;
    if (!saved) unlink(temporary.c_str());
    SLUICE_ENFORCE(saved, ErrorCode::kResourceExhausted, "file.write",
                   "cannot write {}: {}", path, std::strerror(error));
    break;
  }
  // The new name is there; now it survives a power cut, too.
  fsync(Descriptor(folder, O_RDONLY | O_DIRECTORY).number());
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
    platform::Raise(ErrorCode::kNotFound, "file.open", "cannot open {}: {}",
                    path_, opened ? "it is no file" : std::strerror(error));
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
    platform::Raise(ErrorCode::kNotFound, "file.read", "cannot read {}: {}",
                    path_, std::strerror(errno));
  }
}

void InputFile::Read(void* to, size_t count) {
  char* next = static_cast<char*>(to);
  while (count > 0) {
    const size_t got = ReadSome(next, count);
    if (got == 0) {
      platform::Raise(ErrorCode::kDataLoss, "file.ends",
                      "{} ends {} bytes too early: it was cut off", path_,
                      count);
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

}  // namespace sluice::framework
