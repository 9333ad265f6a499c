#include "sluice/laboratory/records/record_store.h"

#include <atomic>
#include <thread>

#include "tests/laboratory/records/record_fixture.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sluice/framework/costs/machine.h"
#include "sluice/laboratory/records/checked_line.h"

namespace sluice::testing {
namespace {

// A record of this machine.
Record Here(int size = 1, double seconds = 1e-3) {
  Record record = MakeRecord(size, seconds);
  record.machine = MachineId().text;
  return record;
}

RecordQuery QueryOf(const Record& record) {
  return {.signature = record.signature,
          .kernel = record.kernel,
          .kernel_version = record.kernel_version,
          .threads = record.threads,
          .place = record.place,
          .cold = record.cold};
}

class RecordStoreTest : public RecordTest {
 protected:
  RecordStoreTest() : system_(folder_ + "/system.jsonl") {}

  void WriteUser(const std::vector<Record>& records) const {
    AppendToRecordFile(path_, records, {});
  }
  void WriteSystem(const std::vector<Record>& records) const {
    AppendToRecordFile(system_, records, {});
  }
  // The median that a fresh store finds for the record's query; 0 for none.
  double Median(const Record& record) const {
    const RecordStore store({.system = {system_}, .user = path_});
    const FoundRecord found = store.Find(QueryOf(record));
    return found.record == nullptr ? 0 : found.record->median;
  }

  std::string system_;
};

TEST_F(RecordStoreTest, FindsARecordByItsWholeKey) {
  WriteUser({Here(1, 1), Here(2, 2)});
  const RecordStore store({.system = {}, .user = path_});
  EXPECT_EQ(store.size(), 2U);
  const FoundRecord found = store.Find(QueryOf(Here(2)));
  EXPECT_EQ(found.match, RecordMatch::kExact);
  ASSERT_NE(found.record, nullptr);
  EXPECT_EQ(*found.record, Here(2, 2));
  const auto missing = [&store](auto change) {
    RecordQuery query = QueryOf(Here(1));
    const Record record = Here(1);
    query.signature = record.signature;
    query.kernel = record.kernel;
    query.kernel_version = record.kernel_version;
    query.place = record.place;
    change(query);
    return store.Find(query).match == RecordMatch::kNone;
  };
  EXPECT_FALSE(missing([](RecordQuery&) {}));
  EXPECT_TRUE(missing([](RecordQuery& q) { q.signature = "other"; }));
  EXPECT_TRUE(missing([](RecordQuery& q) { q.kernel = "other"; }));
  EXPECT_TRUE(missing([](RecordQuery& q) { q.threads = 2; }));
  EXPECT_TRUE(missing([](RecordQuery& q) { q.cold = true; }));
  EXPECT_TRUE(missing([](RecordQuery& q) { q.place = "cuda:0"; }));
}

TEST_F(RecordStoreTest, OtherVersionsAndMachinesAreStale) {
  Record version = Here(1, 1);
  version.kernel_version = "v0";
  Record machine = Here(2, 2);
  machine.machine = "another machine";
  WriteUser({version, machine});
  const RecordStore store({.system = {}, .user = path_});
  for (const Record& record : {Here(1, 1), Here(2, 2)}) {
    const FoundRecord found = store.Find(QueryOf(record));
    EXPECT_EQ(found.match, RecordMatch::kStale);
    ASSERT_NE(found.record, nullptr);
    EXPECT_EQ(found.record->median, record.median);
  }
}

TEST_F(RecordStoreTest, RecordsOfChangedKernelsAreARemarkOnce) {
  Record first = Here(1, 1), second = Here(2, 2), machine = Here(3, 3);
  first.kernel_version = second.kernel_version = "v0";
  machine.machine = "another machine";
  WriteUser({first, second, machine});
  const RecordStore store({.system = {}, .user = path_});
  store.Find(QueryOf(Here(3)));
  EXPECT_TRUE(store.remarks().empty());
  store.Find(QueryOf(Here(1)));
  store.Find(QueryOf(Here(2)));
  ASSERT_EQ(store.remarks().size(), 1U);
  const std::string said = first.kernel + " is another version here";
  EXPECT_EQ(store.remarks()[0].find(said), 0U);
}

TEST_F(RecordStoreTest, AStaleRecordOfThisMachineComesFirstThenTheNewest) {
  Record machine = Here(1, 1);
  machine.machine = "another machine";
  machine.date = "2026-03-01T12:00:00.000Z";
  Record old = Here(1, 2);
  old.kernel_version = "v-1";
  Record young = Here(1, 3);
  young.kernel_version = "v0";
  young.date = "2025-04-01T12:00:00.000Z";
  Record wrong = Here(1, 4);
  wrong.kernel_version = "v0.5";
  wrong.verdict = Verdict::kWrong;
  wrong.date = "2025-05-01T12:00:00.000Z";
  WriteUser({machine, young, old, wrong});
  EXPECT_EQ(Median(Here(1)), 3);
}

TEST_F(RecordStoreTest, TheUsersRecordsWinWhateverTheirDate) {
  Record newer = Here(1, 2);
  newer.date = "2026-03-01T12:00:00.000Z";
  WriteSystem({newer, Here(2, 5)});
  WriteUser({Here(1, 1)});
  EXPECT_EQ(Median(Here(1)), 1);
  EXPECT_EQ(Median(Here(2)), 5);
}

TEST_F(RecordStoreTest, AWrongKernelStaysWrong) {
  Record wrong = Here(1, 1);
  wrong.verdict = Verdict::kWrong;
  wrong.message = "element 3 differs";
  WriteSystem({wrong});
  Record timing = Here(1, 2);
  timing.date = "2026-03-01T12:00:00.000Z";
  Record threads = timing;
  threads.threads = 4;
  threads.cold = true;
  WriteUser({timing, threads});
  RecordStore store({.system = {system_}, .user = path_});
  store.Add({timing});
  for (const Record& record : {timing, threads}) {
    const FoundRecord found = store.Find(QueryOf(record));
    EXPECT_EQ(found.match, RecordMatch::kExact);
    ASSERT_NE(found.record, nullptr);
    EXPECT_EQ(found.record->verdict, Verdict::kWrong);
    EXPECT_EQ(found.record->message, "element 3 differs");
  }
  // Another version of the kernel has no records.
  Record mended = Here(1, 3);
  mended.kernel_version = "v2";
  store.Add({mended});
  EXPECT_EQ(store.Find(QueryOf(mended)).record->median, 3);
}

TEST_F(RecordStoreTest, AddedRecordsAreFoundAndWrittenAtOnce) {
  const std::string path = folder_ + "/cache/sluice/records.jsonl";
  RecordStore store({.system = {}, .user = path});
  Record record = Here(7, 1);
  record.machine = record.date = record.sluice = "";
  const FoundRecord before = store.Find(QueryOf(record));
  EXPECT_EQ(before.record, nullptr);
  store.Add({record});
  const FoundRecord found = store.Find(QueryOf(record));
  EXPECT_EQ(found.match, RecordMatch::kExact);
  EXPECT_EQ(found.record->machine, MachineId().text);
  EXPECT_NE(found.record->date, "");
  EXPECT_EQ(RecordFileContent(path).records,
            std::vector<Record>{*found.record});
  EXPECT_TRUE(store.remarks().empty());
}

TEST_F(RecordStoreTest, ARecordThatIsSupersededStaysValid) {
  RecordStore store({});
  store.Add({Here(1, 1)});
  const Record* first = store.Find(QueryOf(Here(1))).record;
  for (int i = 2; i < 1000; ++i) {
    store.Add({Here(1, i)});
  }
  EXPECT_EQ(first->median, 1);
  EXPECT_EQ(store.Find(QueryOf(Here(1))).record->median, 999);
  EXPECT_EQ(store.size(), 1U);
}

TEST_F(RecordStoreTest, ARecordWithoutSenseIsRefusedAndNotKept) {
  RecordStore store({});
  Record record = Here(1);
  record.kernel = "";
  ExpectError(ErrorCode::kInvalidArgument, "record.member", {"kernel"}, [&] {
    store.Add({Here(2), record});
  });
  EXPECT_EQ(store.size(), 0U);
}

TEST_F(RecordStoreTest, WhatCannotBeWrittenIsSaidOnceAndKeptInMemory) {
  mkdir((folder_ + "/records.jsonl").c_str(), 0777);
  RecordStore store({.system = {}, .user = path_});
  store.Add({Here(1)});
  store.Add({Here(2)});
  EXPECT_EQ(store.size(), 2U);
  int about_writing = 0;
  for (const std::string& remark : store.remarks()) {
    EXPECT_NE(remark.find(path_), std::string::npos);
    about_writing +=
        remark.find("kept in memory only") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(about_writing, 1);
}

TEST_F(RecordStoreTest, DamagedLinesAreSaidOnce) {
  WriteUser({Here(1)});
  Write(Bytes() + "damaged\n");
  const RecordStore store({.system = {}, .user = path_});
  EXPECT_EQ(store.size(), 1U);
  static_cast<void>(store.Find(QueryOf(Here(1))));
  ASSERT_EQ(store.remarks().size(), 1U);
  EXPECT_NE(store.remarks()[0].find("1 are damaged"), std::string::npos);
}

TEST_F(RecordStoreTest, RecordsOfOtherOpsAreNotRead) {
  std::string object = RecordToJson(Here(1));
  object.replace(object.find("\"rounds\":31"), 11, "\"rounds\":-1");
  WriteUser({Here(2)});
  Write(Bytes() + SealLine(object));
  const RecordStore store({.system = {}, .user = path_});
  const Record record = Here(2);
  RecordQuery query = QueryOf(record);
  query.signature = "relu_grad(X: float32[2]/1)";
  EXPECT_EQ(store.Find(query).record, nullptr);
  EXPECT_TRUE(store.remarks().empty());
  EXPECT_FALSE(store.empty());
  EXPECT_NE(store.Find(QueryOf(record)).record, nullptr);
  ASSERT_EQ(store.remarks().size(), 1U);
  EXPECT_NE(store.remarks()[0].find("1 lines about relu hold no sensible"),
            std::string::npos);
}

TEST_F(RecordStoreTest, WhatIsAddedWinsOverAFileThatIsReadLater) {
  Record newer = Here(1, 2);
  newer.date = "2026-03-01T12:00:00.000Z";
  WriteUser({newer});
  RecordStore store({.system = {}, .user = path_});
  store.Add({Here(1, 1)});
  EXPECT_EQ(store.Find(QueryOf(Here(1))).record->median, 1);
}

TEST_F(RecordStoreTest, NearVisitsTheRecordsOfOneKernelAndOp) {
  Record version = Here(3);
  version.kernel_version = "v0";
  Record gradient = Here(4);
  gradient.op = "relu_grad";
  gradient.signature = "relu_grad(X: float32[4]/1)";
  Record other = Here(5);
  other.kernel = "relu/other (cpu float32 PLAIN)";
  WriteUser({Here(1, 1), Here(1, 2), Here(2), version, gradient, other});
  const RecordStore store({.system = {}, .user = path_});
  double estimates = 0;
  int visited = 0;
  store.Near(Here().kernel, "relu", [&](const Record& record) {
    estimates += record.estimate;
    ++visited;
  });
  EXPECT_EQ(visited, 3);
  EXPECT_EQ(estimates, 1 + 2 + 3);
}

TEST_F(RecordStoreTest, AFileThatGrewIsCompactedBeforeWriting) {
  const std::vector<Record> many(500, Here(1));
  WriteUser(many);
  RecordStore store({.system = {}, .user = path_});
  store.Add({Here(2)});
  EXPECT_EQ(RecordFileContent(path_).lines, 2);
}

TEST_F(RecordStoreTest, ThreadsAddAndFindAtOnce) {
  RecordStore store({.system = {}, .user = path_});
  std::atomic<int> missed = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, &missed, thread] {
      for (int i = 0; i < 100; ++i) {
        const Record record = Here(1000 * thread + i + 1);
        store.Add({record});
        const RecordQuery query = QueryOf(record);
        if (store.Find(query).match != RecordMatch::kExact) ++missed;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(store.size(), 400U);
  EXPECT_EQ(RecordFileContent(path_).records.size(), 400U);
}

TEST_F(RecordStoreTest, FiguresAreDerivedWithoutMeasurements) {
  const RecordStore store({});
  EXPECT_EQ(store.Figures(2).date, "");
  EXPECT_EQ(store.Figures(2), store.Figures(2));
  EXPECT_EQ(store.Figures(2).threads, 2);
}

TEST_F(RecordStoreTest, MeasuredFiguresAreKeptAndTheUsersWin) {
  MachineFigures figures = DerivedFigures("AVX2", 2);
  figures.date = "2026-03-01T12:00:00.000Z";
  figures.operations.float32 = 123e9;
  AppendToRecordFile(system_, {}, {&figures, 1});
  RecordStore store({.system = {system_}, .user = path_});
  EXPECT_EQ(store.Figures(2), figures);
  figures.date = "2025-03-01T12:00:00.000Z";
  figures.operations.float32 = 456e9;
  figures.bytes.memory *= 2;
  const uint64_t generation = store.generation();
  store.AddFigures(figures);
  EXPECT_GT(store.generation(), generation);
  EXPECT_EQ(store.Figures(2), figures);
  const RecordStore fresh({.system = {system_}, .user = path_});
  EXPECT_EQ(fresh.Figures(2), figures);
  // Figures of one thread are the same with another number of threads.
  const MachineFigures four = fresh.Figures(4);
  EXPECT_EQ(four.threads, 4);
  EXPECT_EQ(four.operations, figures.operations);
  EXPECT_EQ(four.bytes, figures.bytes);
  EXPECT_GT(four.bytes_all_threads.l1, figures.bytes_all_threads.l1);
  EXPECT_GT(four.bytes_all_threads.memory, four.bytes.memory);
}

TEST_F(RecordStoreTest, FiguresOfOtherMachinesDoNotCount) {
  MachineFigures figures = DerivedFigures("AVX2", 2);
  figures.machine = "another machine";
  figures.date = "2026-03-01T12:00:00.000Z";
  AppendToRecordFile(path_, {}, {&figures, 1});
  const RecordStore store({.system = {}, .user = path_});
  EXPECT_EQ(store.Figures(2).date, "");
}

TEST(MachineId, IsStableAndNamesTheProcessor) {
  const auto& name = MachineId();
  EXPECT_EQ(&name, &MachineId());
  EXPECT_EQ(name.hash.size(), 12U);
  EXPECT_EQ(name.hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(name.text.find(", "), std::string::npos);
}

}  // namespace
}  // namespace sluice::testing
