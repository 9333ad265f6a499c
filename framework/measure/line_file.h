#pragma once

#include <string>
#include <string_view>

#include "sluice/framework/files/file.h"

namespace sluice::framework {

// A text file that several processes append to, open and locked; used by one
// thread. The lock is on the file itself; a file that another process
// has replaced meanwhile is opened again, so that nobody writes into one that
// is gone. Errors name the path.
class LockedLineFile {
 public:
  // Creates the file if it is missing. Raises InvalidArgument for what is no
  // regular file, FailedPrecondition where it cannot be opened for reading and
  // writing, or stays locked for `patience_seconds`.
  LockedLineFile(std::string path, double patience_seconds);
  ~LockedLineFile();
  LockedLineFile(const LockedLineFile&) = delete;
  LockedLineFile& operator=(const LockedLineFile&) = delete;

  // Writes whole lines, newlines included, with one call; a line that a killed
  // writer left unfinished is ended first. Raises ResourceExhausted when that
  // fails; the file is as it was then.
  void Append(std::string_view lines);

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Waits for a writer of the file that is open here, for so many seconds at
// most. Where files cannot be locked nobody waits.
void WaitForWriters(const InputFile& file, double patience_seconds);

}  // namespace sluice::framework
