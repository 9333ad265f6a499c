#pragma once

#include <string>
#include <string_view>

#include "sluice/framework/files/file.h"

namespace sluice {

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

// Waits for a writer of this open file, at most `patience_seconds`. Does not
// wait if files cannot be locked.
void WaitForWriters(const InputFile& file, double patience_seconds);

}  // namespace sluice
