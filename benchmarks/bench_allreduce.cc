// Compares an all-reduce as an op of a plan with MPI_Allreduce. Prints one line
// of JSON: {"<bytes>": {"raw": us, "plan": us}}, for one all-reduce, and
// {"driven": {"sum": us, "work": us, "both": us}}, for MPI_Iallreduce during
// work that needs no memory. bench_distributed.py starts it on two ranks.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "benchmarks/bench_util.h"
#include <CLI/CLI.hpp>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "sluice/platform/function_ref.h"
#include "sluice/platform/ranks/world.h"
#include "sluice/sluice.h"

namespace {

using sluice::DType;
using sluice::Feeds;
using sluice::FunctionRef;
using sluice::Tensor;
using sluice::World;
using sluice::bench::MedianOf;

constexpr int kReductions = 16;
constexpr int kSmokeReductions = 2;
constexpr int kLeastTurns = 7;
constexpr int kMostTurns = 20000;
// Scale of the feeds, so that sums do not grow: there are two ranks.
constexpr float kScale = 0.5F;

// Seconds until the last rank is done.
double Seconds(FunctionRef<void()> call) {
  using Clock = std::chrono::steady_clock;
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  call();
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

// How often calls that take `once` together fit into `seconds`; 1 if that is 0.
int Turns(double seconds, double once) {
  if (seconds <= 0) return 1;
  return std::clamp(static_cast<int>(seconds / once), kLeastTurns, kMostTurns);
}

// Both variants scale their input into new memory, and sum it over all ranks
// repeatedly, in place. They take turns.
nlohmann::ordered_json Measure(int64_t bytes, int reductions, double seconds) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  const std::vector<float> ones(static_cast<size_t>(count), 1);
  std::vector<float> buffer(ones.size());
  const auto raw = [&] {
    std::transform(ones.begin(), ones.end(), buffer.begin(),
                   [](float value) { return value * kScale; });
    for (int i = 0; i < reductions; ++i) {
      MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(count),
                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
  };

  sluice::Program program;
  auto sum = sluice::ops::Scale(program.Data("x", DType::kFloat32, {count}),
                                {.scale = kScale});
  for (int i = 0; i < reductions; ++i) {
    sum = sluice::ops::CAllreduceSum({sum})[0];
  }
  const auto first = sluice::ops::Slice(sum, {0}, {1});
  const Feeds feeds = {{"x", Tensor::FromVector<float>({count}, ones)}};
  sluice::Executor executor;
  const auto plan = executor.Prepare(program, feeds, {first});
  float found = 0;
  const auto planned = [&] {
    found = plan->Run(feeds)[0].ToVector<float>()[0];
  };

  raw();
  planned();
  const double both = Seconds(raw) + Seconds(planned);
  const int turns = Turns(seconds, both);
  std::vector<double> raw_times;
  std::vector<double> plan_times;
  for (int i = 0; i < turns; ++i) {
    raw_times.push_back(Seconds(raw));
    plan_times.push_back(Seconds(planned));
  }
  if (found != buffer[0]) {
    std::cerr << "the plan finds " << found << ", MPI " << buffer[0] << "\n";
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double microseconds = 1e6 / reductions;
  return {{"raw", MedianOf(raw_times) * microseconds},
          {"plan", MedianOf(plan_times) * microseconds},
          {"turns", turns}};
}

// Computes without memory access; returns a value that depends on the work.
double Work(int64_t steps) {
  double x = 1;
  for (int64_t i = 0; i < steps; ++i) {
    x = x * 1.0000001 + 1e-9;
  }
  return x;
}

// The part of an all-reduce that MPI can overlap with work that calls MPI_Test
// occasionally, in microseconds; no plan can hide more. MPI uses the algorithm
// that the world has chosen before for large sums.
nlohmann::ordered_json MeasureDriven(int64_t bytes, double seconds) {
  constexpr int kSlices = 32;
  constexpr double kWorkOfSum = 4;
  constexpr int64_t kProbe = 1'000'000;
  std::vector<float> buffer(static_cast<size_t>(bytes) / sizeof(float), 1);
  volatile double sink = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0;
  const auto start = [&] {
    done = 0;
    MPI_Iallreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(buffer.size()),
                   MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD, &request);
  };
  const auto test = [&] {
    if (done == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  };
  const auto finish = [&] {
    while (done == 0) {
      test();
    }
  };
  const auto sum = [&] {
    start();
    finish();
  };
  sum();
  // Equal on both ranks, because Seconds is.
  const double step = Seconds([&] { sink = Work(kProbe); }) / kProbe;
  const auto steps =
      static_cast<int64_t>(kWorkOfSum * Seconds(sum) / kSlices / step);
  const auto work = [&] {
    for (int i = 0; i < kSlices; ++i) {
      sink = Work(steps);
    }
  };
  const auto both = [&] {
    start();
    for (int i = 0; i < kSlices; ++i) {
      sink = Work(steps);
      test();
    }
    finish();
  };
  const double all = Seconds(sum) + Seconds(work) + Seconds(both);
  const int turns = Turns(seconds, all);
  std::vector<double> sums;
  std::vector<double> works;
  std::vector<double> boths;
  for (int i = 0; i < turns; ++i) {
    sums.push_back(Seconds(sum));
    works.push_back(Seconds(work));
    boths.push_back(Seconds(both));
  }
  return {{"sum", MedianOf(sums) * 1e6},
          {"work", MedianOf(works) * 1e6},
          {"both", MedianOf(boths) * 1e6}};
}

int Run(int argc, char** argv) {
  double seconds = 0;
  int64_t driven_bytes = 0;
  bool smoke = false;
  CLI::App app("All-reduces of two ranks: mpirun -n 2 bench_allreduce ...");
  app.add_option("seconds", seconds, "For each figure")
      ->required()
      ->check(CLI::Range(0.0, 60.0));
  app.add_option("driven_bytes", driven_bytes, "Of the MPI_Iallreduce")
      ->required()
      ->check(CLI::Range(int64_t{4}, int64_t{1} << 30));
  sluice::bench::AddSmokeOption(app, &smoke);
  CLI11_PARSE(app, argc, argv);
  if (smoke) seconds = 0;
  sluice::SetNumThreads(1);
  const World& world = World::Join();
  if (world.size() != 2) {
    std::cerr << "bench_allreduce: there are " << world.size()
              << " ranks; expected 2\n";
    return 2;
  }
  nlohmann::ordered_json found;
  for (const int64_t bytes :
       {int64_t{1} << 16, int64_t{1} << 20, int64_t{1} << 24}) {
    found[std::to_string(bytes)] =
        Measure(bytes, smoke ? kSmokeReductions : kReductions, seconds);
  }
  found["driven"] = MeasureDriven(driven_bytes, seconds);
  if (world.rank() == 0) std::cout << found.dump() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_allreduce: " << error.what() << "\n";
    return 1;
  }
}
