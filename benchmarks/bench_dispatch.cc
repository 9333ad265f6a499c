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

}  // namespace

int main(int argc, char** argv) {
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "Costs of an op and of a run, on one thread.");
  sluice::SetNumThreads(1);
  sluice::Executor executor;

  sluice::Program chain;
  const auto sum = AddChain(&chain, kOps);
  // Keeps each sum a separate op, as in the peers.
  chain.SetHints("exclude pass=fuse_elementwise");
  // Inputs vary between runs, so that nothing can be precomputed.
  const std::vector<Feeds> feeds = {MakeFeeds(1, 0.5F), MakeFeeds(2, 0.25F)};
  const auto plan = executor.Prepare(chain, feeds[0], {sum});
  if (plan->instructions().size() != kOps) {
    std::cerr << "expected " << kOps << " instructions, got "
              << plan->instructions().size() << "\n";
    return 1;
  }
  CheckResult(plan->Run(feeds[0])[0], 1 + 0.5F * kOps);
  CheckResult(plan->Run(feeds[1])[0], 2 + 0.25F * kOps);
  size_t run = 0;
  const double chain_seconds = MedianSeconds(
      options.seconds, [&] { plan->Run(feeds[run++ % feeds.size()]); });

  sluice::Program single;
  const auto one_sum = AddChain(&single, 1);
  const auto single_plan = executor.Prepare(single, feeds[0], {one_sum});
  CheckResult(single_plan->Run(feeds[0])[0], 1.5F);
  // Each call is far below the clock's resolution, so many are timed together.
  constexpr int kCalls = 100;
  const double plan_seconds = MedianSeconds(options.seconds, [&] {
    for (int i = 0; i < kCalls; ++i)
      single_plan->Run(feeds[i % 2]);
  });
  const double run_seconds = MedianSeconds(options.seconds, [&] {
    for (int i = 0; i < kCalls; ++i) {
      executor.Run(single,
                   {{"a", feeds[i % 2][0].second}, {"b", feeds[0][1].second}},
                   {one_sum});
    }
  });

  // Many ops of one kind: costs must not grow faster than their number.
  const int many_ops = options.smoke ? 10'000 : 100'000;
  sluice::Program many;
  const auto many_sum = AddChain(&many, many_ops);
  const double prepare_seconds = MedianSeconds(options.seconds, [&] {
    sluice::Executor fresh;
    fresh.Prepare(many, feeds[0], {many_sum});
  });

  sluice::bench::Report report;
  report.Add({.id = "dispatch/chain1000",
              .unit = "ns",
              .value = chain_seconds / kOps * 1e9,
              .at_most = 15});
  report.Add({.id = "prepare/chain" + std::to_string(many_ops) + "_s",
              .unit = "s",
              .value = prepare_seconds,
              .at_most = 1.5});
  report.Add(
      {"dispatch/run", "ns", (run_seconds - plan_seconds) / kCalls * 1e9});
  report.SetPeers("dispatch", {"--threads", "1"});
  return report.Finish(options);
}
