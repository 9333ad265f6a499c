// Many threads run one plan.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/endurance/endurance_test.h"
#include "tests/examples/lenet.h"

namespace sluice::testing {
namespace {

class CUDAEnduranceThreads : public EnduranceTest {};

TEST_F(CUDAEnduranceThreads, EightOnOnePlanGetTheSameBits) {
  const int runs = Rounds(500, 200);
  const KernelHintGuard guard(kOnGPU);
  LeNet net(/*dropout=*/false);
  Scope scope;
  net.MakeParameters(&scope);
  const Feeds feeds = LeNetImages(7);
  Fetches fetches = {net.loss};
  for (const auto& [param, grad] : net.gradients) {
    fetches.emplace_back(grad);
  }
  Executor executor;
  const auto plan = executor.Prepare(net.program, feeds, fetches);
  const auto numbers = [&] {
    std::vector<float> all;
    for (const Tensor& tensor : plan->Run(feeds, &scope)) {
      const auto values = tensor.ToVector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const std::vector<float> want = numbers();
  std::atomic<int> same{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int run = 0; run < runs; ++run) {
        if (numbers() == want) ++same;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(same, 8 * runs);
}

}  // namespace
}  // namespace sluice::testing
