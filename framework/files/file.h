#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::framework {

// Replaces the file at `path` by one that holds `parts`, one after the other:
// writes `path`.saving, syncs it and renames it, so that whatever happens
// meanwhile `path` holds the old content or the whole new one, also after a
// crash or a power cut. The new file has the permissions of the old one. Two
// writers of one path take turns. A symbolic link
// stays, and the file that it points to is replaced. Raises InvalidArgument for
// what is no regular file (/dev/null, a FIFO, a folder) and for a path with a
// zero byte, NotFound when the file beside it cannot be created,
// ResourceExhausted when it cannot be written (a full disk) or put in place;
// the old content stays then.
void ReplaceFile(const std::string& path,
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
