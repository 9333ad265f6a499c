// average_embedding_mask through a prepared plan, compared with the time to
// read the embedding once and with other ways to compute it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/bench_util.h"
#include "benchmarks/machine_limits.h"

#include "sluice/sluice.h"

namespace {

using sluice::DDim;
using sluice::DType;
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

// Compares the first mask's mean with float64 sums.
bool IsRight(const Tensor& embedding, const Tensor& mask, const Tensor& mean) {
  std::vector<double> sums(kFeatures);
  int64_t count = 0;
  for (int64_t x = 0; x < kX; ++x) {
    const int32_t* run = mask.data<int32_t>() + 2 * x;
    for (int32_t y = run[0]; y < run[1]; ++y, ++count) {
      const float* pixel = embedding.data<float>() + (x * kY + y) * kFeatures;
      for (int64_t f = 0; f < kFeatures; ++f) {
        sums[f] += pixel[f];
      }
    }
  }
  for (int64_t f = 0; f < kFeatures; ++f) {
    if (!(std::abs(mean.data<float>()[f] - sums[f] / count) <= 1e-6)) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "Means of embeddings over run-length coded masks");
  sluice::ThreadCountGuard guard(options.threads);
  const Tensor embedding = sluice::bench::RandomTensor(
      "gaussian_random", {kBatch, kX, kY, kFeatures}, 1);
  const Tensor mask = RandomMask();

  sluice::Program program;
  program.Data("embedding", DType::kFloat32, embedding.dims());
  program.Data("mask", DType::kInt32, mask.dims());
  program.AppendOp("average_embedding_mask",
                   {{"Embedding", {"embedding"}}, {"Mask", {"mask"}}});
  const sluice::Feeds feeds = {{"embedding", embedding}, {"mask", mask}};
  sluice::Executor executor;
  const auto plan = executor.Prepare(
      program, feeds, {program.Output("Out"), program.Output("Count")});
  if (!IsRight(embedding, mask, plan->Run(feeds).at(0))) {
    std::fprintf(stderr, "average_embedding_mask: wrong mean\n");
    return 1;
  }

  sluice::bench::Report report;
  const double limit =
      sluice::bench::SecondsToRead(embedding.data<float>(), embedding.numel(),
                                   std::min(options.seconds, kLimitSeconds));
  const double seconds =
      sluice::bench::MedianSeconds(options.seconds, [&] { plan->Run(feeds); });
  report.Add({"embedding/4x256x256x16x32/t" + std::to_string(options.threads),
              "ms", 1e3 * seconds, 1e3 * limit});
  report.SetPeers("embedding", {"--threads", std::to_string(options.threads),
                                "--sizes", "4x256x256x16x32"});
  return report.Finish(options);
}
