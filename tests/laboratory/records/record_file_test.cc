#include "sluice/laboratory/records/record_file.h"

#include <csignal>

#include "tests/laboratory/records/record_fixture.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/resource_limit.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sluice/laboratory/records/checked_line.h"

namespace sluice::testing {
namespace {

class RecordFileTest : public RecordTest {
 protected:
  void Append(const std::vector<Record>& records) const {
    AppendToRecordFile(path_, records, {});
  }
  RecordFileContent Read() const { return RecordFileContent(path_); }
};

TEST_F(RecordFileTest, KeepsRecordsAndFigures) {
  const std::vector<Record> records = {MakeRecord(1), MakeRecord(2)};
  MachineFigures figures = DerivedFigures("AVX2", 4);
  figures.date = "2025-03-01T12:00:00.000Z";
  Append({records[0]});
  AppendToRecordFile(path_, std::span(&records[1], 1), std::span(&figures, 1));
  const RecordFileContent content = Read();
  EXPECT_EQ(content.records, records);
  EXPECT_EQ(content.figures, std::vector<MachineFigures>{figures});
  EXPECT_EQ(content.lines, 3);
  EXPECT_EQ(content.remark, "");
}

TEST_F(RecordFileTest, AMissingFileIsEmptyWithoutARemark) {
  EXPECT_EQ(Read().lines, 0);
  EXPECT_EQ(Read().remark, "");
}

TEST_F(RecordFileTest, ATruncatedFileLosesItsLastLineOnly) {
  Append({MakeRecord(1), MakeRecord(2)});
  const std::string bytes = Bytes();
  const size_t second = bytes.find('\n') + 1;
  for (size_t size = bytes.size() - 1; size > 0; --size) {
    ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(size)), 0);
    const RecordFileContent content = Read();
    // A last line without its newline is complete.
    const size_t whole = size >= bytes.size() - 1 ? 2
                         : size >= second - 1     ? 1
                                                  : 0;
    ASSERT_EQ(content.records.size(), whole) << size;
    const bool cut = size != 0 && size != second - 1 && size != second &&
                     size != bytes.size() - 1;
    ASSERT_EQ(content.damaged, cut ? 1 : 0) << size;
    ASSERT_EQ(content.remark.empty(), !cut);
  }
}

TEST_F(RecordFileTest, AChangedBitLosesItsLineAndNoOther) {
  const std::vector<Record> records = {MakeRecord(1), MakeRecord(2),
                                       MakeRecord(3)};
  Append(records);
  const std::string bytes = Bytes();
  const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto changed = static_cast<char>(bytes[at] ^ (1 << bit));
      ASSERT_EQ(pwrite(file, &changed, 1, static_cast<off_t>(at)), 1);
      const RecordFileContent content = Read();
      // A line without its newline also spoils the next one, unless it is the
      // last.
      const bool newline = bytes[at] == '\n';
      const size_t lost = newline && at + 1 < bytes.size() ? 2 : 1;
      ASSERT_EQ(content.records.size(), 3 - lost) << at << " " << bit;
      for (const Record& record : content.records) {
        ASSERT_TRUE(record == records[0] || record == records[1] ||
                    record == records[2]);
      }
      ASSERT_GE(content.damaged + content.other_version, 1);
      ASSERT_NE(content.remark, "");
    }
    ASSERT_EQ(pwrite(file, &bytes[at], 1, static_cast<off_t>(at)), 1);
  }
  close(file);
}

TEST_F(RecordFileTest, ALineOfAnotherFormatIsLeftOutAndCounted) {
  Append({MakeRecord(1)});
  std::string bytes = Bytes();
  bytes.replace(bytes.find("\"v\":1"), 5, "\"v\":2");
  Write(bytes);
  Append({MakeRecord(2)});
  const RecordFileContent content = Read();
  EXPECT_EQ(content.records, std::vector<Record>{MakeRecord(2)});
  EXPECT_EQ(content.other_version, 1);
  EXPECT_EQ(content.damaged, 0);
  EXPECT_NE(content.remark.find("1 were written in another format"),
            std::string::npos);
}

TEST_F(RecordFileTest, NoiseIsCountedAndLeftOut) {
  using namespace std::string_literals;
  Write("\xFF\xFE\0\n\n{}\n[1]\nhello\n"s);
  Append({MakeRecord(1)});
  const RecordFileContent content = Read();
  EXPECT_EQ(content.records.size(), 1U);
  EXPECT_EQ(content.damaged, 4);
  EXPECT_EQ(content.lines, 5);
}

TEST_F(RecordFileTest, AppendingEndsALineThatAKilledWriterLeft) {
  Append({MakeRecord(1), MakeRecord(2)});
  const std::string bytes = Bytes();
  Write(bytes.substr(0, bytes.size() - 30));
  Append({MakeRecord(3)});
  const RecordFileContent content = Read();
  EXPECT_EQ(content.records,
            (std::vector<Record>{MakeRecord(1), MakeRecord(3)}));
  EXPECT_EQ(content.damaged, 1);
}

TEST_F(RecordFileTest, ARecordWithoutSenseIsNotWritten) {
  Record record = MakeRecord(2);
  record.threads = 0;
  ExpectError(ErrorCode::kInvalidArgument, "record.member", {"threads"}, [&] {
    Append({MakeRecord(1), record});
  });
  EXPECT_EQ(Bytes(), "");
}

TEST_F(RecordFileTest, RefusesWhatIsNoRegularFile) {
  ExpectError(ErrorCode::kFailedPrecondition, "line_file.open",
              {folder_, "directory"},
              [&] { AppendToRecordFile(folder_, {{MakeRecord()}}, {}); });
  EXPECT_NE(RecordFileContent(folder_).remark, "");
  mkfifo(path_.c_str(), 0600);
  ExpectError(ErrorCode::kInvalidArgument, "line_file.not_regular", {path_},
              [&] { Append({MakeRecord()}); });
  EXPECT_NE(Read().remark.find(path_), std::string::npos);
}

TEST_F(RecordFileTest, AMissingFolderIsNamed) {
  const std::string path = folder_ + "/missing/records.jsonl";
  ExpectError(ErrorCode::kFailedPrecondition, "line_file.open",
              {path, "No such file"},
              [&] { AppendToRecordFile(path, {{MakeRecord()}}, {}); });
}

// Runs `body` in a child that is not root, because root ignores permissions;
// returns the exit status.
template <typename Body>
int InAnOrdinaryChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(99);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST_F(RecordFileTest, AReadOnlyFileIsReadAndNotWritten) {
  Append({MakeRecord(1)});
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  const int status = InAnOrdinaryChild([&] {
    if (Read().records.size() != 1) return 1;
    try {
      Append({MakeRecord(2)});
    } catch (const Error& error) {
      return error.check_id() == "line_file.open" ? 7 : 2;
    }
    return 3;
  });
  EXPECT_EQ(status, 7);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(Read().records.size(), 1U);
}

TEST_F(RecordFileTest, SaysThatALineCannotBeWritten) {
  ExpectError(ErrorCode::kResourceExhausted, "line_file.write",
              {"cannot write records", path_}, [&] {
                const ResourceLimit limit(RLIMIT_FSIZE, 100);
                Append({MakeRecord()});
              });
  EXPECT_EQ(Bytes(), "");
}

TEST_F(RecordFileTest, AFullDiskLeavesTheFileAsItWas) {
  Append({MakeRecord(1)});
  const std::string bytes = Bytes();
  for (size_t room = 0; room < bytes.size(); room += 13) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);  // write fails with EFBIG
      const size_t size = bytes.size() + room;
      const struct rlimit limit { size, size };
      setrlimit(RLIMIT_FSIZE, &limit);
      try {
        Append({MakeRecord(2)});
      } catch (const Error& error) {
        _exit(error.code() == ErrorCode::kResourceExhausted ? 7 : 8);
      }
      _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 7) << room;
    ASSERT_EQ(Bytes(), bytes) << room;
  }
}

TEST_F(RecordFileTest, SlowAFileThatStaysLockedIsAnError) {
  Append({MakeRecord(1)});
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);
  ExpectError(ErrorCode::kFailedPrecondition, "line_file.locked",
              {path_, "5 seconds"}, [&] { Append({MakeRecord(2)}); });
  // Readers do not wait: an unfinished line counts as damaged.
  EXPECT_EQ(Read().records.size(), 1U);
  close(descriptor);
  Append({MakeRecord(2)});
  EXPECT_EQ(Read().records.size(), 2U);
}

TEST_F(RecordFileTest, AFileThatIsTooLargeIsNotRead) {
  Append({MakeRecord(1)});
  ASSERT_EQ(truncate(path_.c_str(), off_t{1} << 40), 0);
  EXPECT_NE(Read().remark.find("1099511627776 bytes"), std::string::npos);
  ExpectError(ErrorCode::kResourceExhausted, "record_file.large",
              {path_, "1099511627776 bytes"},
              [&] { CompactRecordFile(path_); });
}

TEST_F(RecordFileTest, RecordsAreReadByOp) {
  Record gradient = MakeRecord(3);
  gradient.op = "relu_grad";
  gradient.signature = "relu_grad(X: float32[3]/1)";
  Append({MakeRecord(1), gradient, MakeRecord(2)});
  const RecordLines lines = ReadRecordLines(path_);
  EXPECT_EQ(RecordsOf(lines, "relu"),
            (std::vector<Record>{MakeRecord(1), MakeRecord(2)}));
  EXPECT_EQ(RecordsOf(lines, "relu_grad"), std::vector<Record>{gradient});
  EXPECT_TRUE(RecordsOf(lines, "rel").empty());
}

TEST_F(RecordFileTest, AWholeLineThatIsNoRecordIsDamaged) {
  std::string object = RecordToJson(MakeRecord(1));
  object.replace(object.find("\"threads\":1"), 11, "\"threads\":0");
  Write(SealLine(object) + SealLine(R"({"kind":"pet"})"));
  Append({MakeRecord(2)});
  const RecordFileContent content = Read();
  EXPECT_EQ(content.records, std::vector<Record>{MakeRecord(2)});
  EXPECT_EQ(content.damaged, 2);
}

// --- compaction
TEST_F(RecordFileTest, CompactingKeepsWhatIsCurrent) {
  Record wrong = MakeRecord(9);
  wrong.verdict = Verdict::kWrong;
  Append({wrong});
  for (int round = 0; round < 60; ++round) {
    Append({MakeRecord(1, 1e-3 + round), MakeRecord(2, 2e-3 + round),
            MakeRecord(9)});
  }
  Write(Bytes() + "noise\n{\"v\":2,\"sum\":\"of another version\"}\n");
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_TRUE(CompactRecordFile(path_));
  const RecordFileContent content = Read();
  EXPECT_EQ(content.records, (std::vector<Record>{wrong, MakeRecord(1, 59.001),
                                                  MakeRecord(2, 59.002)}));
  EXPECT_EQ(content.other_version, 1);
  EXPECT_EQ(content.damaged, 0);
  EXPECT_EQ(content.lines, 4);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_FALSE(CompactRecordFile(path_));
}

TEST_F(RecordFileTest, AFileWithoutMuchToDropIsNotCompacted) {
  for (int size = 0; size < 150; ++size) {
    Append({MakeRecord(size + 1)});
  }
  for (int size = 0; size < 120; ++size) {
    Append({MakeRecord(size + 1)});
  }
  const std::string bytes = Bytes();
  EXPECT_FALSE(CompactRecordFile(path_));
  EXPECT_EQ(Bytes(), bytes);
}

TEST_F(RecordFileTest, AFullDiskStopsCompactingAndLosesNothing) {
  for (int round = 0; round < 200; ++round) {
    Append({MakeRecord(1)});
  }
  const std::string bytes = Bytes();
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { 100, 100 };
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      CompactRecordFile(path_);
    } catch (const Error& error) {
      _exit(error.code() == ErrorCode::kResourceExhausted ? 7 : 8);
    }
    _exit(9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(Bytes(), bytes);
}

}  // namespace
}  // namespace sluice::testing
