#include "sluice/platform/plugin/plugin_file.h"

#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/platform/error.h"
#include "sluice/platform/foreign.h"
#include "sluice/platform/text.h"

namespace sluice {
namespace {

class File {
 public:
  File(const std::string& path, std::string_view what) {
    // The system would use only the part before the zero byte.
    SLUICE_ENFORCE(path.find('\0') == path.npos, ErrorCode::kInvalidArgument,
                   "plugin.path_nul",
                   "{} {}: this is no path, it has a zero byte", what,
                   Shown(path));
    handle_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int reason = errno;
    struct stat status {};
    const bool readable = handle_ >= 0 && fstat(handle_, &status) == 0;
    regular_ = readable && S_ISREG(status.st_mode);
    size_ = regular_ ? static_cast<uint64_t>(status.st_size) : 0;
    SLUICE_ENFORCE(readable, ErrorCode::kNotFound, "plugin.missing",
                   "{} {}: the file cannot be opened: {}", what, path,
                   std::strerror(reason));
  }
  ~File() {
    if (handle_ >= 0) close(handle_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool regular() const { return regular_; }
  uint64_t size() const { return size_; }

  bool Contains(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }

  // Returns false if the range is not in the file.
  bool Read(uint64_t offset, void* to, size_t bytes) const {
    return Contains(offset, bytes) &&
           pread(handle_, to, bytes, static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(bytes);
  }

 private:
  int handle_ = -1;
  bool regular_ = false;
  uint64_t size_ = 0;
};

// Returns the header of libsluice itself, which a plug-in's must match.
const Elf64_Ehdr* OwnHeader() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&CheckSharedLibrary), &info) == 0) {
    return nullptr;
  }
  return static_cast<const Elf64_Ehdr*>(info.dli_fbase);
}

// Returns whether the file contains all ranges in the library's tables.
bool IsComplete(const File& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      !file.Read(header.e_phoff, segments.data(),
                 segments.size() * sizeof(Elf64_Phdr))) {
    return false;
  }
  for (const Elf64_Phdr& segment : segments) {
    if (!file.Contains(segment.p_offset, segment.p_filesz)) return false;
  }
  if (header.e_shoff == 0) return true;  // stripped of its section table
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      !file.Read(header.e_shoff, sections.data(),
                 sections.size() * sizeof(Elf64_Shdr))) {
    return false;
  }
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_NOBITS &&
        !file.Contains(section.sh_offset, section.sh_size)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void CheckSharedLibrary(const std::string& path, std::string_view what) {
  const File file(path, what);
  Elf64_Ehdr header{};
  const bool has_magic = file.Read(0, &header, SELFMAG) &&
                         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  SLUICE_ENFORCE(file.regular() && (has_magic || file.size() == 0),
                 ErrorCode::kInvalidArgument, "plugin.not_a_library",
                 "{} {}: expected a shared library (ELF), got another "
                 "kind of file",
                 what, path);
  const bool has_header = file.Read(0, &header, sizeof(header));
  SLUICE_ENFORCE(has_header, ErrorCode::kDataLoss, "plugin.truncated_header",
                 "{} {}: the file is truncated: expected a header of {} "
                 "bytes, got {} bytes in all",
                 what, path, sizeof(header), file.size());
  const Elf64_Ehdr* own = OwnHeader();
  const bool same_machine =
      own == nullptr ||
      (header.e_ident[EI_CLASS] == own->e_ident[EI_CLASS] &&
       header.e_ident[EI_DATA] == own->e_ident[EI_DATA] &&
       header.e_machine == own->e_machine && header.e_type == ET_DYN);
  SLUICE_ENFORCE(same_machine, ErrorCode::kInvalidArgument, "plugin.machine",
                 "{} {}: expected a shared library for machine {}, got "
                 "ELF type {} for machine {}",
                 what, path, own->e_machine, header.e_type, header.e_machine);
  SLUICE_ENFORCE(IsComplete(file, header), ErrorCode::kDataLoss,
                 "plugin.truncated",
                 "{} {}: the file is truncated or damaged: its tables "
                 "speak of more than its {} bytes",
                 what, path, file.size());
}

void* OpenLibrary(const std::string& path, std::string_view what) {
  // g++ 12 gives what is linked with -ffast-math an initialiser after which the
  // thread takes denormal numbers for zero.
  struct FloatingPoint {
    FloatingPoint() { std::fegetenv(&before); }
    ~FloatingPoint() { std::fesetenv(&before); }
    std::fenv_t before;
  } guard;
  // A second dlopen of such a file would succeed, without the initialisers.
  static std::mutex mutex;
  static auto* const kFailed = new std::map<std::string, Error>();
  {
    const std::lock_guard lock(mutex);
    const auto failed = kFailed->find(path);
    if (failed != kFailed->end()) throw Error(failed->second);
  }
  // The C library says that dlopen raises nothing, which is not so.
  void* (*volatile const open)(const char*, int) = dlopen;
  try {
    return open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (...) {
    try {
      RethrowForeign(Format("{} {}: an initialiser of it", what, path));
    } catch (Error& error) {
      error.AddContext(
          "start the process again: the system's loader stays locked, so that "
          "other threads that open a library wait for ever");
      const std::lock_guard lock(mutex);
      kFailed->emplace(path, error);
      throw;
    }
  }
}

}  // namespace sluice
