#include <csignal>
#include <random>
#include <set>

#include "tests/laboratory/records/record_fixture.h"
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "sluice/laboratory/records/record_file.h"

namespace sluice::testing {
namespace {

constexpr int kWriters = 8;
constexpr int kKilled = 3;
constexpr int kEach = 40;

// Several writer processes on one file.
class RecordWritersTest : public RecordTest {
 protected:
  // Appends records one after the other, and writes to `written` after each;
  // endless for writers that are killed.
  [[noreturn]] void WriteRecords(int writer, bool without_end, int written) {
    for (int number = 0; without_end || number < kEach; ++number) {
      Record record = MakeRecord(number + 1);
      record.kernel = "writer " + std::to_string(writer);
      // Lines of many lengths, some of more than a page.
      record.message =
          std::string(static_cast<size_t>(number * 997 % 1000), '.');
      record.signature += std::string(number % 7 == 0 ? 9000 : 0, 's');
      try {
        AppendToRecordFile(path_, {&record, 1}, {});
      } catch (...) {
        _exit(3);
      }
      if (write(written, ".", 1) != 1) _exit(4);
    }
    _exit(0);
  }

  struct Writer {
    pid_t process = -1;
    int pipe = -1;  // a byte for each record that is on disk
  };

  Writer Start(int writer, bool without_end) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WriteRecords(writer, without_end, ends[1]);
    }
    close(ends[1]);
    return {child, ends[0]};
  }

  static int Acknowledged(const Writer& writer) {
    int count = 0;
    char buffer[4096];
    while (true) {
      const ssize_t got = read(writer.pipe, buffer, sizeof(buffer));
      if (got <= 0) break;
      count += static_cast<int>(got);
    }
    close(writer.pipe);
    return count;
  }

  void Run(int rounds) {
    std::mt19937 random(5);
    int killed_records = 0;
    for (int round = 0; round < rounds; ++round) {
      std::filesystem::remove(path_);
      std::vector<Writer> writers;
      for (int writer = 0; writer < kWriters; ++writer) {
        writers.push_back(Start(writer, writer < kKilled));
      }
      for (int writer = 0; writer < kKilled; ++writer) {
        // Waits for at least one record each, then for a random time.
        char first = 0;
        ASSERT_EQ(read(writers[writer].pipe, &first, 1), 1);
        usleep(random() % 5000);
        kill(writers[writer].process, SIGKILL);
      }
      std::vector<int> acknowledged;
      for (int writer = 0; writer < kWriters; ++writer) {
        const int first = writer < kKilled ? 1 : 0;
        acknowledged.push_back(first + Acknowledged(writers[writer]));
        int status = 0;
        ASSERT_EQ(waitpid(writers[writer].process, &status, 0),
                  writers[writer].process);
        if (writer < kKilled) {
          ASSERT_TRUE(WIFSIGNALED(status)) << "a writer could not write";
          killed_records += acknowledged.back();
        } else {
          ASSERT_EQ(status, 0);
        }
      }
      Check(acknowledged);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(killed_records, rounds * kKilled);
  }

  // Every acknowledged record must exist unchanged, and at most one more of
  // each killed writer, complete or truncated.
  void Check(const std::vector<int>& acknowledged) {
    const RecordFileContent content(path_);
    ASSERT_LE(content.damaged, kKilled);
    ASSERT_EQ(content.other_version, 0);
    std::vector<int> found(kWriters);
    for (const Record& record : content.records) {
      const int writer = record.kernel.back() - '0';
      const int number = found[writer]++;
      ASSERT_EQ(record.estimate, number + 1) << record.kernel;
      ASSERT_EQ(record.message.size(), number * 997U % 1000);
    }
    for (int writer = 0; writer < kWriters; ++writer) {
      ASSERT_GE(found[writer], acknowledged[writer]) << writer;
      ASSERT_LE(found[writer],
                acknowledged[writer] + (writer < kKilled ? 1 : 0));
    }
  }
};

TEST_F(RecordWritersTest, EightOfWhichThreeAreKilledLoseNothingElse) {
  Run(5);
}

TEST_F(RecordWritersTest, SlowAHundredRoundsOfEightWritersLoseNothingElse) {
  Run(100);
}

TEST_F(RecordWritersTest, NothingIsLostWhileOthersCompact) {
  std::vector<Writer> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.push_back(Start(writer, false));
  }
  // Repeatedly makes compaction worthwhile.
  const Record same = MakeRecord(1000);
  const std::vector<Record> many(150, same);
  int compacted = 0;
  for (int round = 0; round < 10; ++round) {
    AppendToRecordFile(path_, many, {});
    compacted += CompactRecordFile(path_) ? 1 : 0;
  }
  for (const Writer& writer : writers) {
    EXPECT_EQ(Acknowledged(writer), kEach);
    int status = 0;
    waitpid(writer.process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_GT(compacted, 0);
  std::set<std::string> keys;
  for (const Record& record : RecordFileContent(path_).records) {
    keys.insert(RecordKey(record));
  }
  EXPECT_EQ(keys.size(), 4U * kEach + 1);
  EXPECT_EQ(RecordFileContent(path_).damaged, 0);
}

}  // namespace
}  // namespace sluice::testing
