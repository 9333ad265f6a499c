#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "sluice/platform/export.h"

namespace sluice {

// How long a writer waits for another one that holds the lock of a file and
// writes nothing.
inline constexpr double kWriterPatienceSeconds = 60;

// Replaces the file at `path`: writes `path`.saving, syncs it and renames it,
// so that `path` always holds the old content or the whole new one, also after
// a crash or a power cut. The new file has the permissions of the old one. A
// symbolic link stays, and its target is replaced. Used by one thread. Writers
// of one path run one after the other: the constructor waits for the others.
class SLUICE_API FileReplacement {
 public:
  // Raises InvalidArgument for a path that is no regular file (/dev/null, a
  // FIFO, a folder) or has a zero byte, NotFound when the file beside it cannot
  // be created, FailedPrecondition when another process holds the lock for
  // `patience_seconds` and writes nothing, and on SetCancelRequested.
  explicit FileReplacement(const std::string& path,
                           double patience_seconds = kWriterPatienceSeconds);
  // Keeps the old file unless Write succeeded.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  // Writes `parts`, one after the other, as the new content; may be called
  // once. Raises ResourceExhausted when it cannot be written (a full disk) or
  // renamed, and on SetCancelRequested; the old content then stays.
  void Write(const std::vector<std::string_view>& parts);
  // After Write: returns false once another writer has replaced the file.
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

// Replaces the file at `path` by one that holds `parts`. Raises what
// FileReplacement raises.
SLUICE_API void ReplaceFile(const std::string& path,
                            const std::vector<std::string_view>& parts);

// A regular file, open for reading; used by one thread. Errors name the path.
class SLUICE_API InputFile {
 public:
  // Raises NotFound when there is no such file, InvalidArgument for a path
  // with a zero byte.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  // For locks; valid as long as this object.
  int descriptor() const { return descriptor_; }
  // The size when the file was opened.
  uint64_t size() const { return size_; }
  // Reads the next `count` bytes. Raises NotFound when they cannot be read,
  // DataLoss when the file is too short.
  void Read(void* to, size_t count);
  // Returns the rest of the file.
  std::string ReadAll();

 private:
  // Reads at most `count` bytes; returns 0 at the end.
  size_t ReadSome(void* to, size_t count) const;

  std::string path_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace sluice
