// manhattan_distance and its gradient through prepared plans, compared with the
// machine's register-only limit and other libraries.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_util.h"
#include "benchmarks/machine_limits.h"

#include "sluice/memory/allocator.h"
#include "sluice/sluice.h"

namespace {

using sluice::Feeds;
using sluice::Tensor;
using sluice::bench::Options;
using sluice::bench::Report;

struct Sizes {
  int64_t n, m, p;
  bool with_peers;

  std::string text() const {
    return std::to_string(n) + "x" + std::to_string(m) + "x" +
           std::to_string(p);
  }
  double gigapairs() const { return 1e-9 * static_cast<double>(n * m * p); }
};

constexpr double kLimitSeconds = 0.2;
// For a smoke run: larger sizes use the same code paths.
constexpr int64_t kMostSmokeRows = 128;

// Each round size, and an odd one close to it.
constexpr Sizes kSizes[] = {{128, 128, 128, true},   {127, 129, 127, false},
                            {1008, 1008, 64, true},  {1009, 1007, 63, false},
                            {2016, 2016, 784, true}, {2017, 2015, 783, false}};

Tensor Random(int64_t rows, int64_t columns, int64_t seed) {
  return sluice::bench::RandomTensor("uniform_random", {rows, columns}, seed);
}

// A plan of one op, with its feeds.
struct PlannedOp {
  sluice::Feeds feeds;
  std::shared_ptr<const sluice::Plan> plan;

  std::vector<Tensor> Run() const { return plan->Run(feeds); }
};

PlannedOp PrepareOp(const std::string& type,
                    const Feeds& inputs,
                    const std::vector<std::string>& outputs) {
  sluice::OneOp op = sluice::MakeOneOp(type, inputs, {}, outputs);
  sluice::Executor executor;
  auto plan = executor.Prepare(op.program, op.feeds, op.fetches);
  return {std::move(op.feeds), std::move(plan)};
}

// Checks some rows of the result against float64 sums.
void CheckDistances(const PlannedOp& op, const Sizes& s) {
  const Tensor z = op.Run().at(0);
  const float* x = op.feeds[0].second.data<float>();
  const float* y = op.feeds[1].second.data<float>();
  for (int64_t i = 0; i < s.n; i += s.n / 3) {
    for (int64_t j = 0; j < s.m; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < s.p; ++k) {
        sum += std::abs(double{x[i * s.p + k]} - y[j * s.p + k]);
      }
      const double got = z.data<float>()[i * s.m + j];
      if (!(std::abs(got - sum) <= 1e-5 * sum)) {
        std::fprintf(stderr, "%s: wrong distance at %lld, %lld\n",
                     s.text().c_str(), static_cast<long long>(i),
                     static_cast<long long>(j));
        std::exit(1);
      }
    }
  }
}

void Measure(const Sizes& s,
             int threads,
             const Options& options,
             Report* report) {
  sluice::ThreadCountGuard guard(threads);
  const std::string rest = "/" + s.text() + "/f32/t" + std::to_string(threads);
  const Tensor x = Random(s.n, s.p, 1), y = Random(s.m, s.p, 2);

  const PlannedOp distance =
      PrepareOp("manhattan_distance", {{"X", x}, {"Y", y}}, {"Out"});
  CheckDistances(distance, s);
  const double limit_seconds = std::min(options.seconds, kLimitSeconds);
  const double limit =
      1e-9 * sluice::bench::DistancePairsPerSecond(limit_seconds);
  double seconds =
      sluice::bench::MedianSeconds(options.seconds, [&] { distance.Run(); });
  report->Add(
      {"manhattan" + rest, "G pairs/s", s.gigapairs() / seconds, limit});

  const PlannedOp grad =
      PrepareOp("manhattan_distance_grad",
                {{"X", x}, {"Y", y}, {"Out@GRAD", Random(s.n, s.m, 3)}},
                {"X@GRAD", "Y@GRAD"});
  const double grad_limit =
      1e-9 * sluice::bench::GradientPairsPerSecond(limit_seconds);
  seconds = sluice::bench::MedianSeconds(options.seconds, [&] { grad.Run(); });
  report->Add({"manhattan_grad" + rest, "G pairs/s", s.gigapairs() / seconds,
               grad_limit});
}

// A figure of this process from /proc, in bytes.
double StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) {
      return 1024.0 * std::atof(line.c_str() + name.size() + 1);
    }
  }
  return 0;
}

// The peak memory of a run beyond its output, as the system reports it.
void MeasureExtraBytes(int threads, Report* report) {
  sluice::ThreadCountGuard guard(threads);
  const auto prepare = [](int64_t n, int64_t p) {
    return PrepareOp("manhattan_distance",
                     {{"X", Random(n, p, 1)}, {"Y", Random(n, p, 2)}}, {"Out"});
  };
  prepare(64, 784).Run();  // starts threads and loads code
  const PlannedOp op = prepare(2016, 784);
  sluice::ReleaseCache(sluice::CPUPlace());
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
  const double before = StatusBytes("VmRSS");
  const auto results = op.Run();
  const double peak = StatusBytes("VmHWM") - before;
  report->Add({"manhattan/extra_bytes", "bytes",
               std::max(0.0, peak - 2016.0 * 2016 * sizeof(float)),
               2.0 * 1024 * 1024});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = sluice::bench::ParseOptions(
      argc, argv, "Pairwise Manhattan distances of float32 rows");
  Report report;
  MeasureExtraBytes(options.threads, &report);
  std::string with_peers;
  for (const Sizes& sizes : kSizes) {
    if (options.smoke && sizes.n > kMostSmokeRows) continue;
    Measure(sizes, options.threads, options, &report);
    if (sizes.with_peers) {
      with_peers += (with_peers.empty() ? "" : ",") + sizes.text();
    }
  }
  report.SetPeers("manhattan", {"--threads", std::to_string(options.threads),
                                "--sizes", with_peers});
  return report.Finish(options);
}
