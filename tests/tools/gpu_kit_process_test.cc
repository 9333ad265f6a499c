// Processes with a time limit, as the GPU kit runs everything.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tools/gpu_kit/process.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::gpu_kit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

ProcessResult Shell(const std::string& script, double seconds = 20) {
  return RunProcess({"/bin/sh", "-c", script}, {{"NAME", "value"}}, seconds);
}

TEST(GpuKitProcess, GivesOutputExitStatusAndEnvironment) {
  const ProcessResult result = Shell("echo $NAME; echo error >&2; exit 3");
  EXPECT_EQ(result.output, "value\nerror\n");
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.Ending(), "exit status 3");
}

TEST(GpuKitProcess, KeepsAllOfALongOutput) {
  const ProcessResult result = Shell("head -c 3000000 /dev/zero");
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output.size(), 3000000U);
}

TEST(GpuKitProcess, NamesTheSignal) {
  const ProcessResult result = Shell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.Ending(), HasSubstr("signal 11"));
}

TEST(GpuKitProcess, ALimitEndsItWithAllThatItStarted) {
  const fs::path file = fs::path(::testing::TempDir()) /
                        ("gpu_kit_left_" + std::to_string(getpid()));
  const ProcessResult result =
      Shell("(sleep 2; touch " + file.string() + ") & sleep 30", 0.3);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_LT(result.seconds, 2);
  EXPECT_THAT(result.Ending(), HasSubstr("limit"));
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  EXPECT_FALSE(fs::exists(file));
}

TEST(GpuKitProcess, DoesNotWaitForWhatWasLeftRunning) {
  const ProcessResult result = Shell("sleep 30 & echo done", 20);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output, "done\n");
  EXPECT_LT(result.seconds, 5);
}

TEST(GpuKitProcess, AMissingProgramIsNamed) {
  const ProcessResult result = RunProcess({"/no/such/program"}, {}, 5);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.Ending(), HasSubstr("/no/such/program: No such file"));
}

TEST(GpuKitProcess, AnEndlessOutputKeepsItsBeginningAndItsEnd) {
  const ProcessResult result =
      Shell("echo begin; head -c 60000000 /dev/zero | tr '\\0' x; echo end");
  EXPECT_TRUE(result.ok());
  EXPECT_LT(result.output.size(), size_t{20} << 20);
  EXPECT_TRUE(result.output.starts_with("begin\n"));
  EXPECT_TRUE(result.output.ends_with("xend\n"));
}

TEST(GpuKitProcess, AllCanBeKilledAtOnce) {
  ProcessResult result;
  std::thread waiting([&] { result = Shell("sleep 30"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  KillAllProcesses();
  waiting.join();
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(result.seconds, 10);
}

}  // namespace
}  // namespace sluice::gpu_kit
