#include "sluice/platform/diagnostics/trace.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using nlohmann::json;
using Arguments = decltype(TraceLabel::arguments);
using sluice::testing::ExpectError;

TraceEvent Event(int track,
                 std::string name,
                 int64_t start,
                 int64_t duration,
                 Arguments arguments = {}) {
  const TraceLabel label{std::move(name), "kernel", std::move(arguments)};
  return {track, std::make_shared<TraceLabel>(label), start, duration};
}

TEST(TraceWriterTest, WritesOneCompleteEventPerEntry) {
  TraceWriter trace;
  const int track = trace.Track("cpu stream 0");
  trace.Add(Event(track, "crop", 5'000'001'500, 1'250,
                  {{"dtype", "float32"}, {"note", "say \"hi\"\n"}}));
  trace.Add(Event(track, "top_k", 5'000'000'000, 1'500));
  const json events = json::parse(trace.ToJson()).at("traceEvents");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at("ph"), "M");
  EXPECT_EQ(events[0].at("name"), "thread_name");
  EXPECT_EQ(events[0].at("args").at("name"), "cpu stream 0");
  const json& crop = events[1];
  EXPECT_EQ(crop.at("ph"), "X");
  EXPECT_EQ(crop.at("name"), "crop");
  EXPECT_EQ(crop.at("cat"), "kernel");
  EXPECT_EQ(crop.at("tid"), track);
  EXPECT_DOUBLE_EQ(crop.at("ts"), 1.5);
  EXPECT_DOUBLE_EQ(crop.at("dur"), 1.25);
  EXPECT_EQ(crop.at("args").at("note"), "say \"hi\"\n");
  EXPECT_DOUBLE_EQ(events[2].at("ts"), 0.0);
}

TEST(TraceWriterTest, EveryTrackHasItsOwnNumber) {
  TraceWriter trace;
  const int cpu = trace.Track("cpu");
  const int fpga = trace.Track("fpga:0");
  trace.Add(Event(fpga, "copy", 0, 1));
  EXPECT_NE(cpu, fpga);
  const json events = json::parse(trace.ToJson()).at("traceEvents");
  EXPECT_EQ(events[1].at("tid"), events[2].at("tid"));
  EXPECT_NE(events[0].at("tid"), events[2].at("tid"));
}

TEST(TraceWriterTest, ATrackIsFoundAgainByItsName) {
  TraceWriter trace;
  EXPECT_EQ(trace.Track("cpu"), trace.Track("cpu"));
  EXPECT_NE(trace.Track("cpu", 2), trace.Track("cpu"));
}

TEST(TraceWriterTest, EachProcessHasANameAndATimeZero) {
  TraceWriter trace;
  const int medians = trace.AddProcess("medians");
  const int run = trace.AddProcess("one run");
  trace.Add(Event(trace.Track("cpu", medians), "a", 7, 1));
  trace.Add(Event(trace.Track("cpu", run), "b", 5'000, 1));
  trace.Add(Event(trace.Track("cpu", run), "c", 4'000, 1));
  const json events = json::parse(trace.ToJson()).at("traceEvents");
  EXPECT_EQ(events[0].at("name"), "process_name");
  EXPECT_EQ(events[0].at("args").at("name"), "medians");
  EXPECT_EQ(events[1].at("args").at("name"), "one run");
  EXPECT_EQ(events[4].at("pid"), medians);
  EXPECT_EQ(events[4].at("ts"), 0);
  EXPECT_EQ(events[5].at("pid"), run);
  EXPECT_EQ(events[5].at("ts"), 1);
  EXPECT_EQ(events[6].at("ts"), 0);
}

TEST(TraceWriterTest, KeepsTheFirstEventsUpToItsLimit) {
  TraceWriter trace(2);
  trace.AddProcess("net");
  const int track = trace.Track("cpu");
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(trace.full(), *name == 'c');
    trace.Add(Event(track, name, 0, 1));
  }
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.ToJson().find("\"c\""), std::string::npos);
  EXPECT_NE(trace.ToJson().find("net, first 2 events"), std::string::npos);
}

TEST(TraceWriterTest, NothingIsStillATrace) {
  EXPECT_TRUE(json::parse(TraceWriter().ToJson()).at("traceEvents").empty());
}

TEST(TraceWriterTest, RefusesATrackThatDoesNotExist) {
  TraceWriter trace;
  trace.Track("only");
  for (int track : {-1, 1}) {
    ExpectError(ErrorCode::kInvalidArgument, "trace.track",
                {"'crop'", std::to_string(track)},
                [&] { trace.Add(Event(track, "crop", 0, 0)); });
  }
  EXPECT_EQ(trace.size(), 0u);
}

TEST(TraceWriterTest, RefusesANegativeDuration) {
  TraceWriter trace;
  const int track = trace.Track("only");
  ExpectError(ErrorCode::kInvalidArgument, "trace.duration", {"-1 ns"},
              [&] { trace.Add(Event(track, "crop", 0, -1)); });
}

TEST(TraceWriterTest, WritesTheFile) {
  TraceWriter trace;
  trace.Track("cpu");
  const std::string path = ::testing::TempDir() + "sluice_trace_test.json";
  trace.WriteFile(path);
  std::ifstream file(path);
  EXPECT_EQ(json::parse(file), json::parse(trace.ToJson()));
  std::remove(path.c_str());
}

TEST(TraceWriterTest, AFileThatCannotBeWrittenIsNamedWithTheReason) {
  ExpectError(ErrorCode::kNotFound, "trace.file",
              {"/no/such/folder/trace.json", "No such file"},
              [] { TraceWriter().WriteFile("/no/such/folder/trace.json"); });
  ExpectError(ErrorCode::kNotFound, "trace.file", {"/dev/full", "No space"},
              [] { TraceWriter().WriteFile("/dev/full"); });
}

TEST(TraceWriterTest, ThreadsMayAddTogether) {
  TraceWriter trace;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&trace] {
      const int track = trace.Track("stream");
      for (int i = 0; i < 100; ++i)
        trace.Add(Event(track, "op", i, 1));
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(trace.size(), 400u);
}

TEST(NanosecondsNowTest, NeverGoesBack) {
  int64_t last = NanosecondsNow();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = NanosecondsNow();
    EXPECT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace sluice
