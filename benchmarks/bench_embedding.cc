// average_embedding_mask through a prepared plan, compared with the time to
// read the embedding once and with other ways to compute it.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/bench_util.h"
#include "benchmarks/machine_limits.h"

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/sluice.h"

namespace {

using sluice::DDim;
using sluice::Tensor;

constexpr int64_t kBatch = 4, kX = 256, kY = 256, kFeatures = 16, kMasks = 32;
constexpr double kLimitSeconds = 0.2;

// Runs of 0 to 63 pixels, like the peers'.
Tensor RandomMask() {
  std::mt19937 engine(2);
  std::vector<int32_t> values;
  for (int64_t i = 0; i < kBatch * kMasks * kX; ++i) {
    const auto start = static_cast<int32_t>(engine() % (kY / 2));
    values.push_back(start);
    values.push_back(start + static_cast<int32_t>(engine() % (kY / 4)));
  }
  return Tensor::FromVector(DDim{kBatch, kMasks, kX, 2}, values);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "Means of embeddings over run-length coded masks");
  sluice::ThreadCountGuard guard(options.threads);
  const Tensor embedding = sluice::bench::RandomTensor(
      "gaussian_random", {kBatch, kX, kY, kFeatures}, 1);
  const Tensor mask = RandomMask();

  const sluice::OneOp op = sluice::MakeOneOp(
      "average_embedding_mask", {{"Embedding", embedding}, {"Mask", mask}}, {});
  sluice::Executor executor;
  const auto plan = executor.Prepare(op.program, op.feeds, op.fetches);
  const sluice::IsolatedOp isolated = sluice::Isolate(op);
  const std::string wrong =
      sluice::CompareWithReference(
          isolated,
          sluice::ComputeReference(isolated, sluice::Registry::Global()),
          plan->Run(op.feeds))
          .message;
  if (!wrong.empty()) {
    std::fprintf(stderr, "average_embedding_mask: %s\n", wrong.c_str());
    return 1;
  }

  sluice::bench::Report report;
  const double limit =
      sluice::bench::SecondsToRead(embedding.data<float>(), embedding.numel(),
                                   std::min(options.seconds, kLimitSeconds));
  const double seconds = sluice::bench::MedianSeconds(
      options.seconds, [&] { plan->Run(op.feeds); });
  report.Add({"embedding/4x256x256x16x32/t" + std::to_string(options.threads),
              "ms", 1e3 * seconds, 1e3 * limit});
  report.SetPeers("embedding", {"--threads", std::to_string(options.threads),
                                "--sizes", "4x256x256x16x32"});
  return report.Finish(options);
}
