#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/laboratory/records/record_json.h"
#include "sluice/platform/export.h"

// Record files: lines of JSON, each with a checksum (checked_line.h), to which
// any number of processes append at the same time. A writer that dies loses at
// most the line that it was writing; readers skip that line.
namespace sluice {

// The lines of a file. Lines of records are grouped by op and not parsed yet,
// because a process needs the records of few ops. A movable value.
struct RecordLines {
  std::string path;
  std::unique_ptr<const std::string> text;  // what the views point into
  std::map<std::string_view, std::vector<std::string_view>> by_op;
  std::vector<MachineFigures> figures;    // in the file's order
  std::vector<std::string_view> foreign;  // of another format
  int lines = 0;                          // number of non-empty lines
  int damaged = 0;
  // One sentence for the user about lines that are damaged or of another
  // format, or why the file cannot be read. "" if all is well or the file does
  // not exist.
  std::string remark;
};

// Never raises because of the file or its contents. Waits for a writer for at
// most two seconds. Treats a file of more than 256 MiB as unreadable.
SLUICE_API RecordLines ReadRecordLines(const std::string& path);

// The records of an op, in the file's order. Invalid lines are skipped; their
// number is added to *damaged if it is not null.
SLUICE_API std::vector<Record> RecordsOf(const RecordLines& lines,
                                         std::string_view op,
                                         int* damaged = nullptr);

// The records of all ops, grouped by op.
SLUICE_API std::vector<Record> AllRecords(const RecordLines& lines,
                                          int* damaged = nullptr);

// Appends all records with one write, under an exclusive lock. Creates the file
// if its folder exists. Raises InvalidArgument if it is not a regular file and
// for invalid records; FailedPrecondition if it cannot be opened for writing,
// or another process locks it for more than five seconds; ResourceExhausted if
// the disk is full. On failure the file is unchanged.
SLUICE_API void AppendToRecordFile(const std::string& path,
                                   std::span<const Record> records,
                                   std::span<const MachineFigures> figures);

// Rewrites the file in one step, under the writers' lock, if more than half and
// more than 100 of its lines are superseded or damaged. Keeps what MergeRecords
// keeps, the newest figures of each machine, and lines of other versions.
// Returns whether it did. Raises like AppendToRecordFile, and ResourceExhausted
// for a file of more than 256 MiB; on failure the file is unchanged.
SLUICE_API bool CompactRecordFile(const std::string& path);

}  // namespace sluice
