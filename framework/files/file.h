#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "sluice/platform/export.h"

namespace sluice::framework {

// How long a writer waits for another one that holds the lock of a file and
// writes nothing.
inline constexpr double kWriterPatienceSeconds = 60;

// Replaces the file at `path`: writes `path`.saving, syncs it and renames it,
// so that whatever happens meanwhile `path` holds the old content or the whole
// new one, also after a crash or a power cut. The new file has the permissions
// of the old one. A symbolic link stays, and the file that it points to is
// replaced. Used by one thread. Writers of one path take turns: each waits,
// when it is made, until the one before is gone.
class SLUICE_API FileReplacement {
 public:
  // Raises InvalidArgument for what is no regular file (/dev/null, a FIFO, a
  // folder) and for a path with a zero byte, NotFound when the file beside it
  // cannot be created, FailedPrecondition when another process holds the lock
  // for `patience_seconds` and writes nothing, and on SetCancelRequested.
  explicit FileReplacement(const std::string& path,
                           double patience_seconds = kWriterPatienceSeconds);
  // The old file stays unless Write succeeded.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  // The new content is `parts`, one after the other; to be called once. Raises
  // ResourceExhausted when it cannot be written (a full disk) or put in place,
  // and on SetCancelRequested; the old content stays then.
  void Write(const std::vector<std::string_view>& parts);
  // After Write: false once another writer has replaced the file.
  bool IsInPlace() const;

 private:
  class Descriptor;
  void Lock(double patience_seconds);

  std::string path_;
  std::string temporary_;
  std::optional<mode_t> mode_;  // of the old file
  std::unique_ptr<Descriptor> file_;
  bool written_ = false;
};

// Replaces the file at `path` by one that holds `parts`. Raises as
// FileReplacement.
SLUICE_API void ReplaceFile(const std::string& path,
                            const std::vector<std::string_view>& parts);

// A regular file that is open for reading; used by one thread. Errors name the
// path.
class InputFile {
 public:
  // Raises NotFound when there is no such file, InvalidArgument for a path
  // with a zero byte.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  // Open as long as this is; for locks.
  int descriptor() const { return descriptor_; }
  // When it was opened.
  uint64_t size() const { return size_; }
  // The next `count` bytes. Raises NotFound when they cannot be read, DataLoss
  // when the file ends before.
  void Read(void* to, size_t count);
  // What is left of the file.
  std::string ReadAll();

 private:
  // At most `count` bytes, and 0 at the end.
  size_t ReadSome(void* to, size_t count) const;

  std::string path_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace sluice::framework
