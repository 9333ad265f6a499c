// The half of program_io.h that touches files.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/framework/program/program_io.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::Format;

namespace {

// An open file; closed with it.
class File {
 public:
  File(const std::string& path, int flags)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool IsRegular() const {
    struct stat status {};
    return fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  bool Sync() const { return fsync(descriptor_) == 0; }

  bool Write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

  bool Read(std::string* bytes) const {
    char buffer[1 << 16];
    while (true) {
      const ssize_t count = read(descriptor_, buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return count == 0;
      bytes->append(buffer, static_cast<size_t>(count));
    }
  }

 private:
  int descriptor_;
};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// A name beside `path` that no other writer uses.
std::string TemporaryBeside(const std::string& path) {
  static std::atomic<int> next{0};
  return Format("{}.{}.{}.tmp", path, getpid(), next++);
}

}  // namespace

void SaveProgram(const Program& program, const std::string& path) try {
  const std::string bytes = SerializeProgram(program);
  const std::string temporary = TemporaryBeside(path);
  const File file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  SLUICE_ENFORCE(file.is_open(), ErrorCode::kNotFound, "program_io.create",
                 "cannot create {} to save a program: {}", temporary,
                 std::strerror(errno));
  const bool saved = file.Write(bytes) && file.Sync() &&
                     rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (!saved) unlink(temporary.c_str());
  SLUICE_ENFORCE(saved, ErrorCode::kResourceExhausted, "program_io.write",
                 "cannot write {} bytes of a program to {}: {}", bytes.size(),
                 path, std::strerror(error));
  // The new name is there; now it survives a power cut too.
  File(FolderOf(path), O_RDONLY | O_DIRECTORY).Sync();
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

Program LoadProgram(const std::string& path) try {
  const File file(path, O_RDONLY | O_NONBLOCK);
  SLUICE_ENFORCE(file.is_open() && file.IsRegular(), ErrorCode::kNotFound,
                 "program_io.open", "cannot open program file {}: {}", path,
                 file.is_open() ? "it is no file" : std::strerror(errno));
  std::string bytes;
  SLUICE_ENFORCE(file.Read(&bytes), ErrorCode::kNotFound, "program_io.read",
                 "cannot read program file {}: {}", path, std::strerror(errno));
  return ParseProgram(bytes, path);
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
