// The cost of the runtime itself: a chain of tiny sums in a prepared plan, and
// the overhead of Executor::Run with feeds and fetches over the plan's run.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "benchmarks/bench_util.h"

#include "sluice/sluice.h"

namespace {

using sluice::DType;
using sluice::Feeds;
using sluice::Tensor;
using sluice::bench::MedianSeconds;

constexpr int kOps = 1000;

// Appends a + b + b + ... + b.
sluice::Var AddChain(sluice::Program* program, int ops) {
  auto sum = program->Data("a", DType::kFloat32, {4, 4});
  const auto b = program->Data("b", DType::kFloat32, {4, 4});
  for (int i = 0; i < ops; ++i)
    sum = sluice::ops::ElementwiseAdd(sum, b);
  return sum;
}

Feeds MakeFeeds(float a, float b) {
  return {{"a", Tensor::FromVector<float>({4, 4}, std::vector<float>(16, a))},
          {"b", Tensor::FromVector<float>({4, 4}, std::vector<float>(16, b))}};
}

void CheckResult(const Tensor& result, float expected) {
  for (const float value : result.ToVector<float>()) {
    if (std::abs(value - expected) <= 1e-3F * std::abs(expected)) continue;
    std::cerr << "the chain computed " << value << ", expected " << expected
              << "\n";
    std::exit(1);
  }
}

// Seconds of one run of a chain's prepared plan. `feeds` vary between runs, so
// that nothing can be precomputed.
double ChainSeconds(sluice::Executor& executor,
                    const std::vector<Feeds>& feeds,
                    double seconds) {
  sluice::Program chain;
  const auto sum = AddChain(&chain, kOps);
  // Keeps each sum a separate op, as in the peers.
  chain.SetHints("exclude pass=fuse_elementwise");
  const auto plan = executor.Prepare(chain, feeds[0], {sum});
  if (plan->instructions().size() != kOps) {
    std::cerr << "expected " << kOps << " instructions, got "
              << plan->instructions().size() << "\n";
    std::exit(1);
  }
  CheckResult(plan->Run(feeds[0])[0], 1 + 0.5F * kOps);
  CheckResult(plan->Run(feeds[1])[0], 2 + 0.25F * kOps);
  size_t run = 0;
  return MedianSeconds(seconds,
                       [&] { plan->Run(feeds[run++ % feeds.size()]); });
}

// Seconds that one Executor::Run takes longer than its plan's run.
double RunOverhead(sluice::Executor& executor,
                   const std::vector<Feeds>& feeds,
                   double seconds) {
  sluice::Program single;
  const auto sum = AddChain(&single, 1);
  const auto plan = executor.Prepare(single, feeds[0], {sum});
  CheckResult(plan->Run(feeds[0])[0], 1.5F);
  // Each call is far below the clock's resolution, so many are timed together.
  constexpr int kCalls = 100;
  const double plan_seconds = MedianSeconds(seconds, [&] {
    for (int i = 0; i < kCalls; ++i)
      plan->Run(feeds[i % 2]);
  });
  const double run_seconds = MedianSeconds(seconds, [&] {
    for (int i = 0; i < kCalls; ++i) {
      executor.Run(single,
                   {{"a", feeds[i % 2][0].second}, {"b", feeds[0][1].second}},
                   {sum});
    }
  });
  return (run_seconds - plan_seconds) / kCalls;
}

// Seconds of a new executor's Prepare for a chain of `ops` ops.
double PrepareSeconds(int ops, const Feeds& feeds, double seconds) {
  sluice::Program chain;
  const auto sum = AddChain(&chain, ops);
  return MedianSeconds(seconds, [&] {
    sluice::Executor fresh;
    fresh.Prepare(chain, feeds, {sum});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "Costs of an op and of a run, on one thread.");
  sluice::SetNumThreads(1);
  sluice::Executor executor;
  const std::vector<Feeds> feeds = {MakeFeeds(1, 0.5F), MakeFeeds(2, 0.25F)};
  const double chain = ChainSeconds(executor, feeds, options.seconds);
  const double overhead = RunOverhead(executor, feeds, options.seconds);
  // Many ops of one kind: costs must not grow faster than their number.
  const int many = options.smoke ? 10'000 : 100'000;
  const double prepare = PrepareSeconds(many, feeds[0], options.seconds);

  sluice::bench::Report report;
  report.Add({.id = "dispatch/chain1000",
              .unit = "ns",
              .value = chain / kOps * 1e9,
              .at_most = 15});
  report.Add({.id = "prepare/chain" + std::to_string(many) + "_s",
              .unit = "s",
              .value = prepare,
              .at_most = 1.5});
  report.Add({"dispatch/run", "ns", overhead * 1e9});
  report.SetPeers("dispatch", {"--threads", "1"});
  return report.Finish(options);
}
