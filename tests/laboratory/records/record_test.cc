#include <cmath>
#include <limits>

#include "tests/laboratory/records/record_fixture.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/laboratory/records/record_json.h"
#include "sluice/platform/diagnostics/version.h"

namespace sluice::testing {
namespace {

Record WithDate(Record record, const char* date) {
  record.date = date;
  return record;
}

TEST(Record, JsonKeepsEveryMember) {
  Record record = MakeRecord();
  record.threads = 3;
  record.place = "cuda:1";
  record.cold = true;
  record.verdict = Verdict::kWrong;
  record.message = "row 3: \"1\", expected 2\n\xE2\x82\xAC";
  record.best = 0.1 + 0.2;
  record.median = record.high = 1.0 / 3;
  const std::string json = RecordToJson(record);
  EXPECT_EQ(json.find('\n'), std::string::npos);
  const auto read = RecordFromJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, record);
}

TEST(Record, OldNamesOfKernelsAreRead) {
  Record record = MakeRecord();
  record.kernel = "relu/plain (cpu float32 any PLAIN)";
  EXPECT_EQ(RecordFromJson(RecordToJson(record))->kernel, MakeRecord().kernel);
}

TEST(Record, DateAndVersionAreFilledIn) {
  Record record = MakeRecord();
  record.date = record.sluice = "";
  const auto read = RecordFromJson(RecordToJson(record));
  ASSERT_TRUE(read);
  EXPECT_GT(read->date, "2025-01-01T00:00:00.000Z");
  EXPECT_EQ(read->sluice, SluiceVersion());
  EXPECT_NE(read->sluice, "");
}

TEST(Record, AnInfiniteErrorSurvives) {
  Record record = MakeRecord();
  record.error = std::numeric_limits<double>::infinity();
  EXPECT_EQ(RecordFromJson(RecordToJson(record))->error, record.error);
}

TEST(Record, WhatIsNotUtf8IsReplaced) {
  Record record = MakeRecord();
  record.message =
      "a\xFF"
      "b\xC3";
  EXPECT_EQ(RecordFromJson(RecordToJson(record))->message,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(Record, LongMessagesAreCutOff) {
  Record record = MakeRecord();
  record.message = std::string(5000, 'x');
  EXPECT_EQ(RecordFromJson(RecordToJson(record))->message.size(), 1000U);
}

TEST(Record, NonsenseIsRefusedByName) {
  const auto refused = [](const char* member, auto change) {
    Record record = MakeRecord();
    change(record);
    ExpectError(ErrorCode::kInvalidArgument, "record.member",
                {record.kernel, member}, [&] { RecordToJson(record); });
  };
  refused("op", [](Record& r) { r.op = ""; });
  refused("signature", [](Record& r) { r.signature = ""; });
  refused("kernel", [](Record& r) { r.kernel = ""; });
  refused("machine", [](Record& r) { r.machine = ""; });
  refused("place", [](Record& r) { r.place = ""; });
  refused("threads", [](Record& r) { r.threads = 0; });
  refused("rounds", [](Record& r) { r.rounds = -1; });
  refused("median", [](Record& r) { r.median = std::nan(""); });
  refused("best", [](Record& r) { r.best = -1; });
  refused("best", [](Record& r) { r.best = 0; });
  refused("high", [](Record& r) { r.high = 1e308; });
  refused("best", [](Record& r) { r.best = 2 * r.median; });
  refused("low", [](Record& r) { r.low = 2 * r.median; });
  refused("high", [](Record& r) { r.high = r.median / 2; });
  refused("spread", [](Record& r) { r.spread = HUGE_VAL; });
  refused("error", [](Record& r) { r.error = std::nan(""); });
  refused("date", [](Record& r) { r.date = "yesterday"; });
}

TEST(Record, OtherJsonIsNoRecord) {
  const std::string json = RecordToJson(MakeRecord());
  EXPECT_TRUE(RecordFromJson(json));
  for (const char* other : {"", "{}", "[]", "3", "null", "{\"kind\":3}",
                            "{\"kind\":\"other\"}", "{\"kind\":\"record\"}"}) {
    EXPECT_FALSE(RecordFromJson(other)) << other;
  }
  const auto changed = [&json](const char* from, const char* to) {
    std::string text = json;
    text.replace(text.find(from), std::string(from).size(), to);
    return text;
  };
  EXPECT_FALSE(RecordFromJson(changed("\"threads\":1", "\"threads\":0")));
  EXPECT_FALSE(RecordFromJson(changed("\"threads\":1", "\"threads\":\"1\"")));
  EXPECT_FALSE(RecordFromJson(changed("\"threads\":1", "\"threads\":1.5")));
  EXPECT_FALSE(
      RecordFromJson(changed("\"threads\":1", "\"threads\":4294967297")));
  EXPECT_FALSE(RecordFromJson(changed("\"median\":0.001", "\"median\":-1")));
  EXPECT_FALSE(RecordFromJson(changed("\"median\":0.001", "\"median\":null")));
  EXPECT_FALSE(RecordFromJson(changed("2025-03-01T", "9999-03-01 ")));
  EXPECT_FALSE(RecordFromJson(changed("\"median\":0.001", "\"median\":[]")));
  EXPECT_FALSE(RecordFromJson(changed("\"median\":0.001", "\"median\":true")));
  EXPECT_FALSE(RecordFromJson(json + "x"));
  EXPECT_FALSE(RecordFromJson(json.substr(0, json.size() - 1)));
}

TEST(Record, EveryMemberIsNeededAndOthersAreIgnored) {
  const nlohmann::json whole =
      nlohmann::json::parse(RecordToJson(MakeRecord()));
  for (const auto& [name, value] : whole.items()) {
    nlohmann::json part = whole;
    part.erase(name);
    EXPECT_FALSE(RecordFromJson(part.dump())) << name;
  }
  nlohmann::json more = whole;
  more["of_a_later_version"] = "text";
  more["number"] = 3;
  more["nothing"] = nullptr;
  more["yes"] = true;
  EXPECT_EQ(RecordFromJson(more.dump()), MakeRecord());
}

TEST(RecordKey, TellsApartWhatDiffers) {
  const Record record = MakeRecord();
  const auto differs = [&record](auto change) {
    Record other = record;
    change(other);
    return RecordKey(other) != RecordKey(record);
  };
  EXPECT_TRUE(differs([](Record& r) { r.signature += "x"; }));
  EXPECT_TRUE(differs([](Record& r) { r.kernel += "x"; }));
  EXPECT_TRUE(differs([](Record& r) { r.kernel_version += "x"; }));
  EXPECT_TRUE(differs([](Record& r) { r.threads = 2; }));
  EXPECT_TRUE(differs([](Record& r) { r.place = "cuda:0"; }));
  EXPECT_TRUE(differs([](Record& r) { r.machine += "x"; }));
  EXPECT_TRUE(differs([](Record& r) { r.cold = true; }));
  EXPECT_FALSE(differs([](Record& r) { r.median = r.high; }));
  Record other = record;
  other.kernel_version = "v2";
  EXPECT_EQ(RecordKeyOfAnyVersion(other), RecordKeyOfAnyVersion(record));
  EXPECT_NE(QuarantineKey(other), QuarantineKey(record));
  other = record;
  other.threads = 2;
  other.cold = true;
  EXPECT_EQ(QuarantineKey(other), QuarantineKey(record));
}

TEST(MergeRecords, TheNewestOfAKeyWins) {
  const Record old = WithDate(MakeRecord(1, 1), "2025-01-01T00:00:00.000Z");
  const Record young = WithDate(MakeRecord(1, 2), "2025-01-01T00:00:00.001Z");
  const Record other = MakeRecord(2);
  EXPECT_EQ(MergeRecords({old, other, young}),
            (std::vector<Record>{young, other}));
  EXPECT_EQ(MergeRecords({young, other, old}),
            (std::vector<Record>{young, other}));
}

TEST(MergeRecords, OfTheSameDateTheLaterLineWins) {
  EXPECT_EQ(MergeRecords({MakeRecord(1, 1), MakeRecord(1, 2)}),
            (std::vector<Record>{MakeRecord(1, 2)}));
}

TEST(MergeRecords, AWrongKernelIsNotOutvotedByATiming) {
  Record wrong = WithDate(MakeRecord(), "2025-01-01T00:00:00.000Z");
  wrong.verdict = Verdict::kWrong;
  const Record timing = WithDate(MakeRecord(), "2025-02-01T00:00:00.000Z");
  EXPECT_EQ(MergeRecords({wrong, timing}), std::vector<Record>{wrong});
  EXPECT_EQ(MergeRecords({timing, wrong}), std::vector<Record>{wrong});
}

TEST(MergeRecords, KeepsFourVersionsAndAllWrongOnes) {
  std::vector<Record> records;
  for (int version = 0; version < 7; ++version) {
    Record record = MakeRecord();
    record.kernel_version = "v" + std::to_string(version);
    record.date[18] = static_cast<char>('0' + version);
    if (version == 1) record.verdict = Verdict::kWrong;
    records.push_back(record);
  }
  std::string versions;
  for (const Record& record : MergeRecords(records)) {
    versions += record.kernel_version;
  }
  EXPECT_EQ(versions, "v1v3v4v5v6");
}

}  // namespace
}  // namespace sluice::testing
