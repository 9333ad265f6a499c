// The runner of the GPU kit, on programs that pass, fail, die and hang.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/test_programs.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::gpu_kit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A stand-in for a GoogleTest program, whose tests do what their names say.
constexpr const char* kProgram = R"sh(#!/bin/sh
case "$*" in *--gtest_list_tests*)
  echo "Running main() from somewhere"
  echo "Suite."
  for test in $TESTS; do echo "  $test"; done
  exit ;;
esac
echo "process" >>"$COUNT"
filter=${1#--gtest_filter=}
for test in $(echo "$filter" | tr : ' '); do
  echo "[ RUN      ] $test"
  case $test in
    *passes*) echo "[       OK ] $test (7 ms)" ;;
    *skips*) echo "no GPU"; echo "[  SKIPPED ] $test (0 ms)" ;;
    *fails*)
      echo "expected 1, got 2"
      echo "[  FAILED  ] $test (1500 ms)"
      echo "[  FAILED  ] 1 test, listed below:"
      exit 1 ;;
    *dies*) echo "about to die"; kill -SEGV $$ ;;
    *hangs*) sleep 30 ;;
  esac
done
[ -z "$LATE" ] || exit 9
)sh";

class GpuKitTests : public ::testing::Test {
 protected:
  GpuKitTests()
      : folder_(fs::path(::testing::TempDir()) /
                ("gpu_kit_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "program") << kProgram;
    fs::permissions(folder_ / "program", fs::perms::owner_all);
    setenv("COUNT", (folder_ / "count").c_str(), 1);
    setenv("LATE", "", 1);
  }
  ~GpuKitTests() override { fs::remove_all(folder_); }

  // "passes: passed" for each test, with its detail where it has one.
  Json Run(const std::string& tests,
           bool one_process_each = false,
           double part_seconds = 30) {
    setenv("TESTS", tests.c_str(), 1);
    Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
    TestProgram program = {(folder_ / "program").string()};
    program.one_process_each = one_process_each;
    program.seconds_each = 1;
    kit.RunPart(7, "tests", part_seconds,
                [&] { RunTestProgram(kit, program); });
    failures_ = kit.Finish();
    std::ifstream file(folder_ / "gpu_kit.json");
    return Json::parse(file)["parts"][0];
  }
  static std::vector<std::string> Outcomes(const Json& part) {
    std::vector<std::string> outcomes;
    for (const Json& item : part["items"]) {
      outcomes.push_back(item["name"].get<std::string>() + ": " +
                         item["status"].get<std::string>());
    }
    return outcomes;
  }
  int Processes() const {
    std::ifstream file(folder_ / "count");
    int lines = 0;
    for (std::string line; std::getline(file, line);) {
      ++lines;
    }
    return lines;
  }

  const fs::path folder_;
  int failures_ = -1;
};

TEST_F(GpuKitTests, ReportsEachTestOnce) {
  const Json part = Run("passes skips");
  EXPECT_THAT(Outcomes(part),
              ElementsAre("Suite.passes: passed", "Suite.skips: left out"));
  EXPECT_EQ(part["items"][0]["seconds"], 0.007);
  EXPECT_EQ(part["items"][1]["detail"], "no GPU\n");
  EXPECT_EQ(part["passed"], 1);
  EXPECT_EQ(part["left_out"], 1);
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(Processes(), 1);
}

TEST_F(GpuKitTests, GoesOnInANewProcessAfterAFailureADeathAndAHang) {
  const Json part = Run("passes1 fails passes2 dies passes3 hangs passes4");
  EXPECT_THAT(Outcomes(part),
              ElementsAre("Suite.passes1: passed", "Suite.fails: failed",
                          "Suite.passes2: passed", "Suite.dies: failed",
                          "Suite.passes3: passed", "Suite.hangs: failed",
                          "Suite.passes4: passed"));
  EXPECT_EQ(part["items"][1]["detail"], "expected 1, got 2\n");
  EXPECT_THAT(part["items"][3]["detail"].get<std::string>(),
              HasSubstr("signal 11 (Segmentation fault)\nabout to die"));
  EXPECT_THAT(part["items"][5]["detail"].get<std::string>(),
              HasSubstr("limit"));
  // How to see it again, for failures only.
  EXPECT_THAT(part["items"][1]["command"].get<std::string>(),
              HasSubstr("run.sh --exec emulated " + folder_.string() +
                        "/program --gtest_filter=Suite.fails"));
  EXPECT_FALSE(part["items"][0].contains("command"));
  EXPECT_EQ(failures_, 3);
  EXPECT_EQ(Processes(), 4);
}

// What a real GoogleTest program does after a failure: these tests run in a
// process of their own, where the variable is set.
bool IsSubject() {
  return std::getenv("GPU_KIT_SUBJECT") != nullptr;
}
TEST(GpuKitSubject, Passes) {}
TEST(GpuKitSubject, Fails) {
  EXPECT_FALSE(IsSubject());
}
TEST(GpuKitSubject, PassesLater) {}
TEST(GpuKitSubject, FailsToo) {
  EXPECT_FALSE(IsSubject());
}
TEST(GpuKitSubject, Skips) {
  if (IsSubject()) GTEST_SKIP() << "no device";
}
TEST(GpuKitSubject, DISABLED_IsNotRun) {}

TEST_F(GpuKitTests, ARealProgramRunsEveryTestAlsoAfterFailures) {
  setenv("GPU_KIT_SUBJECT", "1", 1);
  const auto run = [&](const std::string& mode) {
    Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
    kit.SetMode(mode);
    kit.RunPart(7, "tests", 30, [&] {
      RunTestProgram(kit, {fs::read_symlink("/proc/self/exe").string(),
                           "GpuKitSubject.*"});
    });
    kit.Finish();
    std::ifstream file(folder_ / "gpu_kit.json");
    return Outcomes(Json::parse(file)["parts"][0]);
  };
  EXPECT_THAT(run("emulated"), ElementsAre("GpuKitSubject.Passes: passed",
                                           "GpuKitSubject.Fails: failed",
                                           "GpuKitSubject.PassesLater: passed",
                                           "GpuKitSubject.FailsToo: failed",
                                           "GpuKitSubject.Skips: left out"));
  // On a GPU nothing may be skipped for want of one.
  EXPECT_EQ(run("gpu").back(), "GpuKitSubject.Skips: failed");
  unsetenv("GPU_KIT_SUBJECT");
}

TEST_F(GpuKitTests, TestsThatAreListedAndDoNotRunAreAFailure) {
  setenv("TESTS", "passes1 passes2", 1);
  std::ofstream(folder_ / "lazy")
      << "#!/bin/sh\ncase \"$*\" in *list_tests*) exec " << folder_ / "program"
      << " \"$@\" ;; esac\n";
  fs::permissions(folder_ / "lazy", fs::perms::owner_all);
  Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
  kit.RunPart(7, "tests", 30,
              [&] { RunTestProgram(kit, {(folder_ / "lazy").string()}); });
  EXPECT_EQ(kit.Finish(), 1);
  std::ifstream file(folder_ / "gpu_kit.json");
  EXPECT_THAT(Json::parse(file)["parts"][0]["items"][0]["detail"],
              HasSubstr("Suite.passes1, Suite.passes2"));
}

TEST_F(GpuKitTests, LeavesTheUsersFilesAlone) {
  fs::create_directories(folder_ / "scratch");
  std::ofstream(folder_ / "scratch" / "data") << "mine";
  {
    Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
    fs::create_directories(kit.ScratchPath("mine"));
  }
  EXPECT_TRUE(fs::exists(folder_ / "scratch" / "data"));
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("scratch_"));
  }
}

TEST_F(GpuKitTests, ResultsThatCannotBeWrittenEndIt) {
  Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
  fs::create_directories(folder_ / "gpu_kit.json.new");
  EXPECT_THROW(kit.RunPart(1, "part", 10, [] {}), std::runtime_error);
}

TEST_F(GpuKitTests, CanGiveEachTestAProcess) {
  EXPECT_THAT(Outcomes(Run("passes1 passes2 passes3", true)),
              ElementsAre("Suite.passes1: passed", "Suite.passes2: passed",
                          "Suite.passes3: passed"));
  EXPECT_EQ(Processes(), 3);
}

TEST_F(GpuKitTests, AProcessThatFailsWhileItEndsIsAFailure) {
  setenv("LATE", "1", 1);
  EXPECT_THAT(Outcomes(Run("passes")),
              ElementsAre("Suite.passes: passed",
                          (folder_ / "program").string() + ": failed"));
  EXPECT_EQ(failures_, 1);
}

TEST_F(GpuKitTests, AProgramThatListsNothingIsAFailure) {
  EXPECT_EQ(Run("")["items"][0]["status"], "failed");
  EXPECT_EQ(failures_, 1);
}

TEST_F(GpuKitTests, WhatThePartHasNoTimeForIsAFailure) {
  const Json part = Run("hangs passes", true, 0.5);
  EXPECT_EQ(failures_, 2);
  EXPECT_THAT(part["items"][1]["detail"].get<std::string>(),
              HasSubstr("1 tests were not run, Suite.passes the first"));
}

TEST_F(GpuKitTests, AnErrorOfAPartIsAFailureAndTheNextPartRuns) {
  Kit kit({folder_.string(), "", folder_.string(), "", 2, 60});
  kit.RunPart(1, "throws", 10, [] { throw std::runtime_error("broken"); });
  std::vector<int> done(100);
  kit.RunPart(2, "works", 10, [&] {
    kit.Parallel("all", done.size(), [&](size_t i) { ++done[i]; });
    kit.AddItem({"one", Status::kPassed});
  });
  EXPECT_EQ(kit.Finish(), 1);
  EXPECT_EQ(done, std::vector<int>(100, 1));
}

TEST_F(GpuKitTests, WorkThatThePartHasNoTimeForIsOneFailure) {
  Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
  int done = 0;
  kit.RunPart(1, "slow", 0.1, [&] {
    kit.Parallel("sleeping", 10, [&](size_t) {
      ++done;
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
    });
  });
  EXPECT_EQ(done, 1);
  EXPECT_EQ(kit.Finish(), 1);
  std::ifstream file(folder_ / "gpu_kit.json");
  EXPECT_THAT(Json::parse(file)["parts"][0]["items"][0]["detail"],
              HasSubstr("9 of 10 were not run"));
}

// Prints the result of each op of its last argument; `dies` ends it.
constexpr const char* kSanitizer = R"sh(#!/bin/sh
[ "$1" = --version ] && exit 0
for ops; do :; done
for op in $(echo "$ops" | tr , ' '); do
  if [ "$op" = dies ]; then
    echo "========= Invalid __global__ write under $2"
    exit 9
  fi
  echo "{\"op\":\"$op\"}"
done
echo "========= ERROR SUMMARY: 0 errors"
)sh";

TEST_F(GpuKitTests, TheSanitizerGoesOnAfterAnOpThatEndsTheProcess) {
  const auto script = [&](const fs::path& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_all);
  };
  script("tools/compute-sanitizer", kSanitizer);
  script("bin/sluice_kernel_outputs",
         "#!/bin/sh\nfor op in a b c d e dies f g h i j; do echo $op; done\n");
  const std::string path = std::getenv("PATH");
  setenv("PATH", ((folder_ / "tools").string() + ":" + path).c_str(), 1);
  Kit kit({folder_.string(), "", folder_.string(), "", 1, 60});
  kit.SetMode("gpu");
  kit.RunPart(3, "sanitizer", 30, [&] { RunSanitizers(kit); });
  setenv("PATH", path.c_str(), 1);
  // The four tools, with the ops in four processes each: b, dies and j share
  // one.
  EXPECT_EQ(kit.Finish(), 4);
  std::ifstream file(folder_ / "gpu_kit.json");
  const Json part = Json::parse(file)["parts"][0];
  EXPECT_EQ(part["passed"], 16);
  EXPECT_THAT(Outcomes(part),
              ::testing::IsSupersetOf(
                  {"memcheck/a,e,h: passed", "memcheck/b,dies: failed",
                   "memcheck/i: passed", "initcheck/d,g: passed"}));
  for (const Json& item : part["items"]) {
    if (item["status"] != "failed") continue;
    EXPECT_THAT(item["detail"].get<std::string>(),
                HasSubstr("Invalid __global__ write under"));
  }
}

TEST_F(GpuKitTests, EarlierResultsGetANumber) {
  Run("passes");
  Run("fails");
  Run("dies");
  const auto results = [&](const std::string& name) {
    std::ifstream file(folder_ / name);
    return Json::parse(file)["parts"][0]["items"][0]["name"];
  };
  EXPECT_EQ(results("gpu_kit.json.1"), "Suite.passes");
  EXPECT_EQ(results("gpu_kit.json.2"), "Suite.fails");
  EXPECT_EQ(results("gpu_kit.json"), "Suite.dies");
  EXPECT_TRUE(fs::exists(folder_ / "gpu_kit.log.1"));
}

TEST_F(GpuKitTests, CommandsAreQuotedForTheShell) {
  const Kit kit({"/a kit", "", folder_.string(), "", 1, 60});
  EXPECT_EQ(kit.ShellCommand({"b/c", "", "it's", "$x=*"}, "gpu"),
            "'/a kit/run.sh' --exec gpu b/c '' 'it'\\''s' '$x=*'");
}

TEST_F(GpuKitTests, AFolderThatCannotBeWrittenIsNamedWithTheOption) {
  try {
    Kit kit({folder_.string(), "", "/proc/none", "", 1, 60});
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/none"));
    EXPECT_THAT(error.what(), HasSubstr("--output FOLDER"));
  }
}

}  // namespace
}  // namespace sluice::gpu_kit
