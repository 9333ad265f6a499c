#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/framework/measure/machine_figures.h"
#include "sluice/framework/measure/record.h"
#include "sluice/platform/export.h"

// Files of records: lines of JSON, each with a checksum (checked_line.h), to
// which any number of processes append at the same time. A writer that dies
// loses at most the line that it was writing; readers leave that line out.
namespace sluice::framework {

struct RecordFileContent {
  std::vector<Record> records;          // whole lines in the file's order
  std::vector<MachineFigures> figures;  // likewise
  int lines = 0;                        // all that are not empty
  int damaged = 0;                      // lines that were left out
  int other_version = 0;                // lines of another format, likewise
  // One sentence for the user about what was left out or why the file cannot be
  // read; "" where all is well, also where there is no such file.
  std::string remark;
};

// Never raises for what the file is or holds. Waits for a writer for two
// seconds at most. A file of more than 256 MiB counts as one that cannot be
// read.
SLUICE_API RecordFileContent ReadRecordFile(const std::string& path);

// Appends all with one write, under an exclusive lock on the file, which is
// created if its folder is there. Raises InvalidArgument for what is no regular
// file, and for records without sense; FailedPrecondition where the file cannot
// be opened for writing, or is locked by another process for more than five
// seconds; ResourceExhausted when the disk is full. The file is as it was then.
SLUICE_API void AppendToRecordFile(const std::string& path,
                                   std::span<const Record> records,
                                   std::span<const MachineFigures> figures);

// Rewrites the file in one step, under the lock that writers take, when of its
// lines more than half, and more than 100, are superseded or damaged: what
// MergeRecords keeps stays, and the newest figures of each machine, and lines
// of other versions. Returns whether it did. Raises as AppendToRecordFile does,
// and ResourceExhausted for a file of more than 256 MiB; the file is as it was
// then.
SLUICE_API bool CompactRecordFile(const std::string& path);

}  // namespace sluice::framework
