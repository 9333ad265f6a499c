#include "sluice/platform/diagnostics/trace.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using nlohmann::json;
using sluice::testing::ExpectError;

TEST(TraceWriterTest, WritesOneCompleteEventPerEntry) {
  TraceWriter trace;
  const int track = trace.AddTrack("cpu stream 0");
  trace.Add({track,
             "crop",
             "kernel",
             5'000'001'500,
             1'250,
             {{"dtype", "float32"}, {"note", "say \"hi\"\n"}}});
  trace.Add({track, "top_k", "kernel", 5'000'000'000, 1'500, {}});
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
  const int cpu = trace.AddTrack("cpu");
  const int fpga = trace.AddTrack("fpga:0");
  trace.Add({fpga, "copy", "copy", 0, 1, {}});
  EXPECT_NE(cpu, fpga);
  const json events = json::parse(trace.ToJson()).at("traceEvents");
  EXPECT_EQ(events[1].at("tid"), events[2].at("tid"));
  EXPECT_NE(events[0].at("tid"), events[2].at("tid"));
}

TEST(TraceWriterTest, NothingIsStillATrace) {
  EXPECT_TRUE(json::parse(TraceWriter().ToJson()).at("traceEvents").empty());
}

TEST(TraceWriterTest, RefusesATrackThatDoesNotExist) {
  TraceWriter trace;
  trace.AddTrack("only");
  for (int track : {-1, 1}) {
    ExpectError(ErrorCode::kInvalidArgument, "trace.track",
                {"'crop'", std::to_string(track)}, [&] {
                  trace.Add({track, "crop", "kernel", 0, 0, {}});
                });
  }
  EXPECT_EQ(trace.size(), 0u);
}

TEST(TraceWriterTest, RefusesANegativeDuration) {
  TraceWriter trace;
  const int track = trace.AddTrack("only");
  ExpectError(ErrorCode::kInvalidArgument, "trace.duration", {"-1 ns"}, [&] {
    trace.Add({track, "crop", "kernel", 0, -1, {}});
  });
}

TEST(TraceWriterTest, WritesTheFile) {
  TraceWriter trace;
  trace.AddTrack("cpu");
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
      const int track = trace.AddTrack("stream");
      for (int i = 0; i < 100; ++i)
        trace.Add({track, "op", "k", i, 1, {}});
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
