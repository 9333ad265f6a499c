#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/measure/machine_figures.h"
#include "sluice/framework/measure/record.h"
#include "sluice/platform/export.h"

// Files of records: lines of JSON, each with a checksum (checked_line.h), to
// which any number of processes append at the same time. A writer that dies
// loses at most the line that it was writing; readers leave that line out.
namespace sluice::framework {

// The lines of a file, those of records by op and not read yet: a process needs
// the records of few ops. A value that may be moved.
struct RecordLines {
  std::string path;
  std::unique_ptr<const std::string> text;  // what the views point into
  std::map<std::string_view, std::vector<std::string_view>> by_op;
  std::vector<MachineFigures> figures;    // in the file's order
  std::vector<std::string_view> foreign;  // of another format
  int lines = 0;                          // all that are not empty
  int damaged = 0;
  // One sentence for the user about lines that are damaged or of another
  // format, or why the file cannot be read; "" where all is well, also where
  // there is no such file.
  std::string remark;
};

// Never raises for what the file is or holds. Waits for a writer for two
// seconds at most. A file of more than 256 MiB counts as one that cannot be
// read.
SLUICE_API RecordLines ReadRecordLines(const std::string& path);

// The records of an op, in the file's order. Lines that hold no sensible record
// are left out; *damaged, where it is given, grows by how many those are.
SLUICE_API std::vector<Record> RecordsOf(const RecordLines& lines,
                                         std::string_view op,
                                         int* damaged = nullptr);

// The records of all ops, one op after the other.
SLUICE_API std::vector<Record> AllRecords(const RecordLines& lines,
                                          int* damaged = nullptr);

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
