#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/laboratory/records/record_file.h"
#include "sluice/laboratory/records/record_json.h"

namespace sluice::testing {

// A record of "relu/plain" on this machine, for a signature of that size.
inline Record MakeRecord(int size = 1, double seconds = 1e-3) {
  Record record;
  record.op = "relu";
  record.signature = "relu(X: float32[" + std::to_string(size) + "]/1)";
  record.kernel = "relu/plain (cpu float32 PLAIN)";
  record.kernel_version = "v1";
  record.machine = "a machine";
  record.best = seconds * 0.9;
  record.low = seconds * 0.95;
  record.median = seconds;
  record.high = seconds * 1.05;
  record.spread = 0.125;
  record.rounds = 31;
  record.verdict = Verdict::kOk;
  record.error = 0.25;
  record.estimate = size;
  record.date = "2025-03-01T12:00:00.000Z";
  record.sluice = "0.1.0";
  return record;
}

// The content of a record file.
struct RecordFileContent {
  explicit RecordFileContent(const std::string& path) {
    const RecordLines content = ReadRecordLines(path);
    lines = content.lines;
    damaged = content.damaged;
    other_version = static_cast<int>(content.foreign.size());
    records = AllRecords(content, &damaged);
    figures = content.figures;
    remark = content.remark;
  }

  std::vector<Record> records;
  std::vector<MachineFigures> figures;
  int lines = 0;
  int damaged = 0;  // including those with an invalid record
  int other_version = 0;
  std::string remark;
};

// A temporary folder, and a path in it.
class RecordTest : public ::testing::Test {
 protected:
  std::string Bytes() const { return ReadFile(path_); }
  void Write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  TempFolder temp_;
  std::string folder_ = temp_.path();
  std::string path_ = folder_ + "/records.jsonl";
};

}  // namespace sluice::testing
