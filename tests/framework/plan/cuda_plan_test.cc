#include <algorithm>

#include "tests/framework/test_ops.h"
#include "tests/testing/cuda_device.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"

// Plans at a CUDA place: kernels and copies of each direction have separate
// streams, which wait for each other with events.
namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::Floats;

class CudaPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = sluice::testing::WhyNoCUDA();
    if (!missing.empty()) GTEST_SKIP() << missing;
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {2, 2});
    program_.Data("y", DType::kFloat32, {2, 2});
  }
  std::string Sum(const std::string& x, const std::string& y) {
    return Append(&program_, "elementwise_add", {{"X", {x}}, {"Y", {y}}});
  }
  // A test_add has a kernel on the CPU only.
  std::string OnHost(const std::string& x, const std::string& y) {
    return Append(&program_, "test_add", {{"X", {x}}, {"Y", {y}}});
  }
  static int Count(const Plan& plan, InstructionKind kind) {
    return static_cast<int>(
        std::count_if(plan.instructions().begin(), plan.instructions().end(),
                      [&](auto& step) { return step.kind == kind; }));
  }
  static int Waits(const Plan& plan) {
    return Count(plan, InstructionKind::kWait) +
           Count(plan, InstructionKind::kQueueWait);
  }

  Program program_;
  const Feeds feeds_ = {{"x", Floats({2, 2}, {1, 2, 4, 8})},
                        {"y", Floats({2, 2}, {16, 32, 64, 128})}};
};

TEST_F(CudaPlanTest, StreamsWaitForEachOtherAndTheHostOnceForAll) {
  const std::string sum = Sum("x", "y");
  Executor executor(CUDAPlace{0});
  const auto plan = executor.Prepare(program_, feeds_, {sum});
  EXPECT_EQ(plan->queues().size(), 3u);
  // Waits: kernels for both copies, and the copy back for the kernel.
  EXPECT_EQ(Count(*plan, InstructionKind::kQueueWait), 2);
  EXPECT_EQ(Count(*plan, InstructionKind::kWait), 1);
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(),
            (std::vector<float>{17, 34, 68, 136}));
}

TEST_F(CudaPlanTest, EveryMissingWaitIsNoticedEveryTime) {
  if (!sluice::testing::CUDAIsEmulated()) {
    GTEST_SKIP() << "on a GPU a stream may be done before a wait is missed; "
                    "the emulation runs nothing before somebody waits";
  }
  const std::string first = Sum("x", "y");
  const std::string host = OnHost(first, "x");
  const std::string second = Sum(host, "y");
  const std::string end = Sum(second, first);
  const Fetches fetches = {end, second, OnHost(end, host)};
  Executor executor(CUDAPlace{0});
  const auto whole = executor.Prepare(program_, feeds_, fetches);
  EXPECT_EQ(whole->Run(feeds_)[0].ToVector<float>(),
            (std::vector<float>{51, 102, 204, 408}));
  const int waits = Waits(*whole);
  ASSERT_GE(waits, 5);
  for (int dropped = 0; dropped < waits; ++dropped) {
    Executor broken(CUDAPlace{0}, {.drop_wait_for_testing = dropped});
    const auto plan = broken.Prepare(program_, feeds_, fetches);
    ASSERT_EQ(Waits(*plan), waits - 1);
    for (int round = 0; round < 20; ++round) {
      // Numbers differ by round, because memory contains the previous ones.
      const auto value = static_cast<float>(3 * round);
      const Feeds feeds = {{"x", Floats({2, 2}, {value, 1, 2, 4})},
                           {"y", Floats({2, 2}, {value + 1, 8, 1, 8})}};
      const auto right = whole->Run(feeds);
      bool noticed = false;
      try {
        const auto results = plan->Run(feeds);
        for (size_t i = 0; i < right.size(); ++i) {
          noticed |= results[i].ToVector<float>() != right[i].ToVector<float>();
        }
      } catch (const Error&) {
        noticed = true;
      }
      EXPECT_TRUE(noticed) << "wait " << dropped << " of " << waits
                           << ", round " << round;
    }
  }
}

TEST_F(CudaPlanTest, MemoryThatCopiesUseIsNotReusedWhileTheyMayRun) {
  // Every value is fetched, so each has its own memory.
  std::string value = Sum("x", "y");
  Fetches fetches;
  for (int i = 0; i < 10; ++i) {
    value = Sum(value, "x");
    fetches.emplace_back(value);
  }
  Executor executor(CUDAPlace{0});
  const auto results = executor.Run(program_, feeds_, fetches);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(results[i].data<float>()[0], 17.0F + static_cast<float>(i + 1));
  }
}

}  // namespace
}  // namespace sluice
