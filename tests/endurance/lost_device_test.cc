// A process whose device is lost: every call reports it, and the process ends
// normally. Each test uses its own process, even in the emulation, where
// nothing restores the device.
#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

#include "tests/endurance/endurance_test.h"
#include "tests/examples/lenet.h"
#include "tests/platform/cuda/stray_op.h"
#include "tests/testing/child_process.h"
#include <gmock/gmock.h>

#include "sluice/memory/copy.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class CUDALossOfProcesses : public EnduranceTest {};

const Feeds& Numbers() {
  static const Feeds feeds = {{"x", Tensor::FromVector<float>({3}, {1, 4, 9})}};
  return feeds;
}

// A plan whose second op loses the device while Stray() is true.
struct StrayProgram {
  StrayProgram() {
    RegisterStrayOp();
    program.Data("x", DType::kFloat32, {3});
    std::string value = "x";
    for (const char* op : {"sqrt", "test_stray", "square"}) {
      program.AppendOp(op, {{"X", {value}}});
      value = program.Output("Out").name();
    }
    plan = executor.Prepare(program, Numbers(), {value});
  }
  Program program;
  Executor executor{kGPU};
  std::shared_ptr<const Plan> plan;
};

// Prints the outcome: "NAME: fine", or the code and the message.
template <typename Call>
void Report(const char* name, const Call& call) {
  try {
    call();
    std::printf("%s: fine\n", name);
  } catch (const Error& error) {
    std::printf("%s: %s: %s\n", name,
                std::string(ToString(error.code())).c_str(), error.what());
  }
  std::fflush(stdout);
}

// Destroyed while the process ends.
std::optional<Tensor>& KeptTensor() {
  static std::optional<Tensor> tensor;
  return tensor;
}
std::optional<LeNetTraining>& KeptTraining() {
  static std::optional<LeNetTraining> training;
  return training;
}

void UseEverything() {
  KeptTraining().emplace(kOnGPU);
  KeptTraining()->Step();
  KeptTensor() = Tensor::FromVector<float>({2}, {1, 2}).CopyTo(kGPU);
}

int LoseTheDevice() {
  SetFillFreshMemory(false);
  UseEverything();
  const StrayProgram stray;
  CUDADeviceContext context(kGPU);
  UniqueMemory cached = AllocUnique(kGPU, 1000);
  std::vector<char> host(1000);
  Report("before", [&] { stray.plan->Run(Numbers()); });
  Stray() = true;
  Report("synchronised", [&] { RunSynchronised(*stray.plan, Numbers()); });
  Report("executor", [&] { stray.plan->Run(Numbers()); });
  Report("training", [] { KeptTraining()->Step(); });
  Report("new executor", [] { LeNetTraining(kOnGPU).Step(); });
  Report("RunOp", [] {
    RunOp("sqrt", {{"X", Numbers().front().second}}, {},
          {.hint = "require place=cuda:0"});
  });
  Report("copy to the device",
         [&] { Copy(kGPU, cached.get(), CPUPlace{}, host.data(), 1000); });
  Report("copy to the host",
         [&] { Copy(CPUPlace{}, host.data(), kGPU, cached.get(), 1000); });
  Report("copy of a tensor", [] { KeptTensor()->CopyTo(CPUPlace{}); });
  Report("wait", [&] { context.Wait(); });
  Report("context", [] { CUDADeviceContext another(kGPU); });
  Report("allocation", [] { AllocUnique(kGPU, size_t{50} << 20); });
  Report("freeing", [&] { cached.reset(); });
  Report("on the CPU", [] {
    RunOp("sqrt", {{"X", Numbers().front().second}}, {},
          {.hint = "require place=cpu"});
  });
  std::puts("the end");
  return 0;
}
const ChildBody kLoseTheDevice("lose_the_device", &LoseTheDevice);

int WorkAndEnd() {
  UseEverything();
  const StrayProgram stray;
  Report("run", [&] { stray.plan->Run(Numbers()); });
  std::puts("the end");
  return 0;
}
const ChildBody kWorkAndEnd("work_and_end", &WorkAndEnd);

TEST_F(CUDALossOfProcesses, EverythingSaysSoAndTheProcessEnds) {
  ChildProcess child({"--child=lose_the_device"});
  EXPECT_EQ(child.Finish(), "exit 0") << child.output();
  const std::string& output = child.output();
  EXPECT_THAT(output, HasSubstr("before: fine"));
  EXPECT_THAT(output, HasSubstr("in op 1 (test_stray)"));
  for (const char* call :
       {"synchronised", "executor", "training", "new executor", "RunOp",
        "copy to the device", "copy to the host", "copy of a tensor", "wait",
        "context", "allocation"}) {
    EXPECT_THAT(output, HasSubstr(std::string(call) + ": DeviceLost: "));
  }
  EXPECT_THAT(output, HasSubstr("freeing: fine"));
  EXPECT_THAT(output, HasSubstr("on the CPU: fine"));
  EXPECT_THAT(output, HasSubstr("the end"));
}

TEST_F(CUDALossOfProcesses, AFreshProcessAfterwardsWorks) {
  for (int i = 0; i < 3; ++i) {
    ChildProcess loser({"--child=lose_the_device"});
    EXPECT_EQ(loser.Finish(), "exit 0") << loser.output();
    ChildProcess fresh({"--child=work_and_end"});
    EXPECT_EQ(fresh.Finish(), "exit 0") << fresh.output();
    EXPECT_THAT(fresh.output(), HasSubstr("run: fine\nthe end"));
  }
}

TEST_F(CUDALossOfProcesses, IsNoticedByEightThreadsAtOnce) {
  ChildProcess child({"--child=lose_from_threads"});
  EXPECT_EQ(child.Finish(), "exit 0") << child.output();
  EXPECT_THAT(child.output(), HasSubstr("8 of 8 threads know"));
}

int LoseFromThreads() {
  const StrayProgram stray;
  stray.plan->Run(Numbers());
  Stray() = true;
  std::atomic<int> know{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      try {
        stray.plan->Run(Numbers());
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kDeviceLost) ++know;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("%d of 8 threads know\n", know.load());
  return 0;
}
const ChildBody kLoseFromThreads("lose_from_threads", &LoseFromThreads);

}  // namespace
}  // namespace sluice::testing
