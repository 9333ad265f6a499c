#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/operators/onednn/onednn_fixture.h"
#include "tests/testing/expect_error.h"
#include <pthread.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

// A convolution with a bias and a product: both need scratchpads.
class OneDnnPlanTest : public testing::OneDnnTest {
 protected:
  std::shared_ptr<const Plan> Prepare(int threads) {
    const ThreadCountGuard guard(threads);
    Data("x", Ramp({3, 12, 9, 7}));
    Data("w", Ramp({10, 12, 3, 3}));
    Data("b", Ramp({10}));
    Data("y", Ramp({350, 20}));
    const auto conv =
        Append("conv2d", {{"Input", {"x"}}, {"Filter", {"w"}}, {"Bias", {"b"}}},
               "Output");
    out_ = Append("mul", {{"X", {conv}}, {"Y", {"y"}}}, "Out");
    return executor_.Prepare(program_, feeds_, {out_});
  }

  std::string out_;
};

bool SameBits(const Tensor& a, const Tensor& b) {
  const Tensor &x = a, &y = b;
  return x.dims() == y.dims() &&
         std::memcmp(x.raw_data(), y.raw_data(), x.bytes()) == 0;
}

TEST_F(OneDnnPlanTest, SlowManyThreadsRunOnePlan) {
  for (const int threads : {1, 2}) {
    program_ = {};
    feeds_ = {};
    const auto plan = Prepare(threads);
    const Tensor expected = plan->Run(feeds_)[0];
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 16; ++i) {
      callers.emplace_back([&] {
        for (int run = 0; run < 1000; ++run) {
          if (!SameBits(plan->Run(feeds_)[0], expected)) ++wrong;
        }
      });
    }
    for (std::thread& caller : callers)
      caller.join();
    EXPECT_EQ(wrong, 0) << "with " << threads << " threads";
  }
}

TEST_F(OneDnnPlanTest, AFewThreadsRunOnePlan) {
  const auto plan = Prepare(2);
  const Tensor expected = plan->Run(feeds_)[0];
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int run = 0; run < 25; ++run) {
        if (!SameBits(plan->Run(feeds_)[0], expected)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

// Runs `work` on a thread with a stack of that size.
template <typename Work>
void OnStackOf(size_t bytes, Work work) {
  // The thread gets this stack, because the system may reuse a larger one.
  const std::unique_ptr<void, decltype(&std::free)> stack(
      std::aligned_alloc(4096, bytes), &std::free);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack.get(), bytes), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<Work*>(argument))();
                  return nullptr;
                },
                &work),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST_F(OneDnnPlanTest, RunsOnASmallStack) {
  const auto plan = Prepare(1);
  const Tensor expected = plan->Run(feeds_)[0];
  bool same = false;
  OnStackOf(256 << 10, [&] {
    const KernelHintGuard guard(testing::kOneDnnOnly);
    const auto again = Executor().Prepare(program_, feeds_, {out_});
    same = SameBits(plan->Run(feeds_)[0], expected) &&
           SameBits(again->Run(feeds_)[0], expected);
  });
  EXPECT_TRUE(same);
}

TEST_F(OneDnnPlanTest, SaysThatAStackIsTooSmall) {
  const auto plan = Prepare(1);
  OnStackOf(96 << 10, [&] {
    ExpectError(ErrorCode::kResourceExhausted, "onednn.stack",
                {"conv2d", "128 KiB of stack"}, [&] { plan->Run(feeds_); });
  });
}

}  // namespace
}  // namespace sluice
