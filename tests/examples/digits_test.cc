#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/digits_program.h"
#include "tests/testing/allocation_sweep.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr const char* kFolder = "examples/data";

struct Answer {
  int correct = 0;
  int total = 0;
  double sum = 0;
  bool operator==(const Answer&) const = default;
};

constexpr Answer kExpected = {757, 797, 196621690};

// The program, its feeds and its answer.
class DigitsTest : public ::testing::Test {
 protected:
  // Has no allocations besides those of Sluice.
  Answer Run(Executor* executor) const {
    const std::vector<Tensor> results =
        executor->Run(program_, feeds_, fetches_);
    const float* distances = results[0].data<float>();
    return {results[1].data<int32_t>()[0], results[2].data<int32_t>()[0],
            std::accumulate(distances, distances + results[0].numel(), 0.0)};
  }

  Program program_;
  examples::DigitsVars vars_ = examples::BuildDigits(&program_);
  Feeds feeds_ = examples::DigitsFeeds(kFolder);
  Fetches fetches_ = {vars_.distance, vars_.correct, vars_.total};
};

TEST_F(DigitsTest, IsRightOnTheCPU) {
  Executor executor;
  EXPECT_EQ(Run(&executor), kExpected);
  EXPECT_TRUE(executor.LastPlan(program_)->transfers().empty());
}

TEST_F(DigitsTest, IsRightWithThePlainKernel) {
  const KernelHintGuard guard("manhattan_distance: require variant=plain");
  Executor executor;
  EXPECT_EQ(Run(&executor), kExpected);
}

TEST_F(DigitsTest, IsRightWithTheDistancesOnTheFPGA) {
  const KernelHintGuard guard("manhattan_distance: require place=fpga:0");
  Executor executor(FPGAPlace{0});
  EXPECT_EQ(Run(&executor), kExpected);
  const auto plan = executor.LastPlan(program_);
  for (const Decision& decision : plan->decisions()) {
    const bool there =
        decision.op == "manhattan_distance" || decision.op == "reshape";
    EXPECT_EQ(ToString(decision.place), there ? "fpga:0" : "cpu")
        << decision.op;
  }
  // Copies both images to the device, once each, and the distances back.
  size_t bytes = 0;
  for (const Transfer& transfer : plan->transfers()) {
    bytes += transfer.bytes;
  }
  EXPECT_EQ(plan->transfers().size(), 3U);
  EXPECT_EQ(bytes, (797 * 48 + 1000 * 48 + 797 * 1000) * sizeof(float));
}

// A smaller version, so that every allocation can be made to fail.
class DigitsAllocationTest : public DigitsTest {
 protected:
  DigitsAllocationTest() {
    const auto images =
        nn::ReadNpy(std::string(kFolder) + "/digits_images.npy");
    const auto labels =
        nn::ReadNpy(std::string(kFolder) + "/digits_labels.npy");
    feeds_ = {{"images", examples::Rows<float>(images, 100, 130)},
              {"known", examples::Rows<float>(images, 0, 100)},
              {"known_labels", examples::Rows<int64_t>(labels, 0, 100)},
              {"labels", examples::Rows<int64_t>(labels, 100, 130)}};
  }

  void Sweep(PlaceKey place) {
    Executor once(place);
    const Answer expected = Run(&once);
    const auto job = [&] {
      // A new executor, so that preparation is included.
      Executor executor(place);
      if (Run(&executor) != expected) throw std::logic_error("a wrong answer");
    };
    const auto sweep = testing::SweepAllocationFailures(job);
    EXPECT_GT(sweep.cured, 0);
    EXPECT_GT(sweep.refused, 0);
  }
};

TEST_F(DigitsAllocationTest, SurvivesEachFailingAllocationOnTheCPU) {
  Sweep(CPUPlace{});
}

TEST_F(DigitsAllocationTest, SurvivesEachFailingAllocationOnTheFPGA) {
  Sweep(FPGAPlace{0});
}

}  // namespace
}  // namespace sluice
