// Allocations of a run of a plan after its first run: LeNet, training and
// inference, with plain kernels and with oneDNN.
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "tests/framework/steady_state/counting_malloc.h"
#include "tests/framework/steady_state/lenet.h"
#include "tests/testing/has_module.h"
#include <gtest/gtest.h>

#include "sluice/memory/allocator.h"
#include "sluice/platform/diagnostics/counters.h"

namespace sluice::testing {
namespace {

constexpr const char* kPlain = "require library=PLAIN";
constexpr const char* kOneDnn = "prefer library=ONEDNN; allow library=ONEDNN";
constexpr int kSteps = 5;

struct Case {
  const char* hint;
  int threads;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.hint << ", " << each.threads << " threads";
}

class SteadyState : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (UsesOneDnn() && !HasModule("onednn")) {
      GTEST_SKIP() << "oneDNN's kernels are not built";
    }
    net_.Start(&scope_);
  }
  static bool UsesOneDnn() { return GetParam().hint == kOneDnn; }

  std::shared_ptr<const Plan> Prepare(const Program& program,
                                      const Feeds& feeds,
                                      const Var& fetch) {
    const KernelHintGuard guard(GetParam().hint);
    const ThreadCountGuard threads(GetParam().threads);
    return Executor().Prepare(program, feeds, {fetch});
  }

  // The caller's results: a list, and a memory handle for each fetch. New
  // values of parameters are written over the former ones.
  static int64_t HandedOut(const Plan& plan) {
    int64_t handles = 1;
    for (const auto& slot : plan.slots()) {
      handles += slot.kind == SlotKind::kFetch;
    }
    return handles;
  }

  void ExpectSteady(const Plan& plan, const Feeds& feeds) {
    for (int warm = 0; warm < 3; ++warm) {
      plan.Run(feeds, &scope_);
    }
    const PlaceKey cpu{CPUPlace()};
    const auto counters = Counters();
    const auto memory = Stats(cpu);
    for (int step = 0; step < kSteps; ++step) {
      CountMallocs count;
      std::vector<Tensor> fetched = plan.Run(feeds, &scope_);
      const auto mallocs = count.Stop();
      EXPECT_EQ(Ours(mallocs), HandedOut(plan)) << "in step " << step;
      for (const auto& [file, times] : mallocs) {
        const bool ours = file.find("sluice") != std::string::npos;
        EXPECT_TRUE(ours || file.find("dnnl") != std::string::npos)
            << file << " allocates " << times << " times";
        if (!ours) RecordProperty(file, std::to_string(times));
      }
    }
    const auto after = Stats(cpu);
    EXPECT_EQ(after.system_allocations, memory.system_allocations);
    EXPECT_EQ(after.reserved, memory.reserved);
    EXPECT_EQ(after.in_use, memory.in_use);
    EXPECT_EQ(after.cached_hits - memory.cached_hits,
              after.allocations - memory.allocations);
    EXPECT_EQ(Counters(), counters)
        << "a run looked for a primitive or packed a parameter";
  }

  static std::set<std::string> Libraries(const Plan& plan) {
    std::set<std::string> libraries;
    for (const auto& decision : plan.decisions()) {
      libraries.insert(decision.kernel->key.library);
    }
    return libraries;
  }

  LeNet net_;
  Scope scope_;
};

TEST_P(SteadyState, ATrainingStepAllocatesOnlyWhatItHandsOut) {
  const Feeds feeds = LeNet::TrainingFeeds(7);
  const auto plan = Prepare(net_.train, feeds, net_.loss);
  EXPECT_EQ(Libraries(*plan).count("ONEDNN"), UsesOneDnn());
  ExpectSteady(*plan, feeds);
}

TEST_P(SteadyState, AnInferenceAllocatesOnlyWhatItHandsOut) {
  for (const int64_t batch : {1, 7}) {
    const Feeds feeds = LeNet::InferenceFeeds(batch);
    const auto plan = Prepare(net_.infer, feeds, net_.logits);
    EXPECT_EQ(Libraries(*plan).count("ONEDNN"), UsesOneDnn());
    ExpectSteady(*plan, feeds);
  }
}

TEST_P(SteadyState, PreparingAgainFindsEveryPrimitive) {
  const Feeds feeds = LeNet::TrainingFeeds(7);
  Prepare(net_.train, feeds, net_.loss)->Run(feeds, &scope_);
  auto& misses = Counter("onednn.cache_misses");
  auto& hits = Counter("onednn.cache_hits");
  const int64_t misses_before = misses;
  const int64_t hits_before = hits;
  Prepare(net_.train, feeds, net_.loss)->Run(feeds, &scope_);
  EXPECT_EQ(misses, misses_before);
  EXPECT_EQ(hits > hits_before, UsesOneDnn());
}

// 1,000 runs, 16 at a time, of three sets of images that must not mix; fewer if
// each run itself uses two threads.
TEST_P(SteadyState, SixteenThreadsGetTheBitsOfOne) {
  constexpr int kSets = 3;
  const int runs = GetParam().threads == 1 ? 1000 : 100;
  std::vector<Feeds> feeds;
  std::vector<Tensor> expected;
  for (unsigned set = 0; set < kSets; ++set) {
    feeds.push_back(LeNet::InferenceFeeds(2, set));
  }
  const auto plan = Prepare(net_.infer, feeds[0], net_.logits);
  for (const Feeds& each : feeds) {
    expected.push_back(plan->Run(each, &scope_)[0]);
  }
  ASSERT_NE(expected[0].ToVector<float>(), expected[1].ToVector<float>());
  std::atomic<int> next{0};
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  callers.reserve(16);
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&] {
      for (int run = next++; run < runs; run = next++) {
        const Tensor got = plan->Run(feeds[run % kSets], &scope_)[0];
        const Tensor& want = expected[run % kSets];
        right += std::memcmp(std::as_const(got).raw_data(),
                             std::as_const(want).raw_data(), want.bytes()) == 0;
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(right, runs);
}

INSTANTIATE_TEST_SUITE_P(Plain,
                         SteadyState,
                         ::testing::Values(Case{kPlain, 1}, Case{kPlain, 2}));
INSTANTIATE_TEST_SUITE_P(OneDnn,
                         SteadyState,
                         ::testing::Values(Case{kOneDnn, 1}, Case{kOneDnn, 2}));

// Convolutions, pooling, products and their gradients, 200 times: every bit of
// every loss and of the final parameters. The number of threads affects which
// layout and variant are predicted to be the fastest.
TEST(PlainKernels, GiveTheSameBitsOnAnyNumberOfThreads) {
  const KernelHintGuard guard(
      Format("{}; prefer layout=NCHW; prefer variant=plain", kPlain));
  const LeNet net;
  const Feeds feeds = LeNet::TrainingFeeds(16);
  std::vector<std::vector<float>> runs;
  for (const int threads : {1, 2, 7}) {
    const ThreadCountGuard count(threads);
    Scope scope;
    net.Start(&scope);
    const auto plan = Executor().Prepare(net.train, feeds, {net.loss});
    std::vector<float>& bits = runs.emplace_back();
    for (int step = 0; step < 200; ++step) {
      bits.push_back(plan->Run(feeds, &scope)[0].data<float>()[0]);
    }
    EXPECT_LT(bits.back(), bits.front() - 0.3F) << "it does not learn";
    for (int i = 0; i < net.parameters; ++i) {
      const auto values = scope.FindVar("p" + std::to_string(i))
                              ->Get<Tensor>()
                              ->ToVector<float>();
      bits.insert(bits.end(), values.begin(), values.end());
    }
  }
  EXPECT_TRUE(runs[1] == runs[0]);
  EXPECT_TRUE(runs[2] == runs[0]);
}

// Tests the counter itself.
TEST(CountMallocs, SaysWhoAllocates) {
  CountMallocs count;
  auto* number = new int(3);
  volatile char* bytes = static_cast<char*>(std::malloc(7));
  const auto mallocs = count.Stop();
  EXPECT_EQ(Ours(mallocs), 2);
  bytes[0] = static_cast<char>(*number);
  delete number;
  std::free(const_cast<char*>(bytes));
}

}  // namespace
}  // namespace sluice::testing
