// Several processes on one device, and processes that are killed.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>

#include "tests/endurance/endurance_test.h"
#include "tests/examples/lenet.h"
#include "tests/testing/child_process.h"
#include <cuda_runtime.h>

#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::testing {
namespace {

class CUDAEnduranceProcesses : public EnduranceTest {};

void Say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

// Trains after a signal on stdin, and prints the bits of all losses.
int TrainWhenTold() {
  LeNetTraining warm_up(kOnGPU);
  warm_up.Step();
  Say("ready");
  std::string line;
  std::getline(std::cin, line);
  LeNetTraining training(kOnGPU);
  const int steps = Rounds(300, 30);
  std::string losses = "losses";
  for (int step = 0; step < steps; ++step) {
    losses += Format(" {:a}", training.Step());
    if (step == steps / 2) Say("half way");
  }
  Say((losses + "\nend of losses").c_str());
  return 0;
}
const ChildBody kTrainWhenTold("train_when_told", &TrainWhenTold);

int TrainForever() {
  LeNetTraining training(kOnGPU);
  training.Steps(3);
  Say("in the middle");
  for (;;) {
    training.Step();
  }
}
const ChildBody kTrainForever("train_forever", &TrainForever);

// The output of a process between "losses" and "end of losses".
std::string LossesIn(const std::string& output) {
  const size_t begin = output.find("losses ");
  const size_t end = output.find("end of losses");
  if (begin == output.npos || end == output.npos) return "none in: " + output;
  return output.substr(begin, end - begin);
}

// The losses of a process that trains alone.
std::string LossesOfOneAlone() {
  ChildProcess child({"--child=train_when_told"});
  child.Say("go");
  EXPECT_EQ(child.Finish(), "exit 0") << child.output();
  return LossesIn(child.output());
}

TEST_F(CUDAEnduranceProcesses, TwoAtOnceEachGetTheLossesOfOneAlone) {
  const std::string want = LossesOfOneAlone();
  EXPECT_TRUE(want.starts_with("losses 0x1.")) << want;
  ChildProcess first({"--child=train_when_told"});
  ChildProcess second({"--child=train_when_told"});
  ASSERT_TRUE(first.WaitFor("ready")) << first.output();
  ASSERT_TRUE(second.WaitFor("ready")) << second.output();
  first.Say("go");
  second.Say("go");
  EXPECT_EQ(first.Finish(), "exit 0") << first.output();
  EXPECT_EQ(second.Finish(), "exit 0") << second.output();
  EXPECT_EQ(LossesIn(first.output()), want);
  EXPECT_EQ(LossesIn(second.output()), want);
}

TEST_F(CUDAEnduranceProcesses, AKilledTrainingDoesNotHarmTheNext) {
  const std::string want = LossesOfOneAlone();
  for (int i = 0; i < 3; ++i) {
    ChildProcess victim({"--child=train_forever"});
    ASSERT_TRUE(victim.WaitFor("in the middle")) << victim.output();
    victim.Kill();
    EXPECT_EQ(LossesOfOneAlone(), want);
  }
}

TEST_F(CUDAEnduranceProcesses, AKilledTrainingDoesNotHarmOneBesideIt) {
  const std::string want = LossesOfOneAlone();
  ChildProcess victim({"--child=train_forever"});
  ASSERT_TRUE(victim.WaitFor("in the middle")) << victim.output();
  ChildProcess other({"--child=train_when_told"});
  other.Say("go");
  ASSERT_TRUE(other.WaitFor("half way")) << other.output();
  victim.Kill();
  EXPECT_EQ(other.Finish(), "exit 0") << other.output();
  EXPECT_EQ(LossesIn(other.output()), want);
}

size_t FreeMemory() {
  size_t free = 0, total = 0;
  CheckCUDA(cudaMemGetInfo(&free, &total), "asking for memory");
  return free;
}

TEST_F(CUDAEnduranceProcesses, AKilledTrainingGivesItsMemoryBack) {
  if (CUDAIsEmulated()) {
    GTEST_SKIP() << "every process has emulated memory of its own";
  }
  constexpr size_t kSlack = size_t{32} << 20;
  const size_t before = FreeMemory();
  ChildProcess victim({"--child=train_forever"});
  ASSERT_TRUE(victim.WaitFor("in the middle")) << victim.output();
  EXPECT_LT(FreeMemory() + kSlack, before) << "it has no memory of its own";
  victim.Kill();
  // The driver frees memory a little later.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (FreeMemory() + kSlack < before &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_GE(FreeMemory() + kSlack, before);
}

}  // namespace
}  // namespace sluice::testing
