// Matrix products of shapes in small networks, compared with the machine's
// register-only limit.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "benchmarks/bench_util.h"
#include <benchmark/benchmark.h>
#include <hwy/highway.h>

#include "sluice/operators/math/gemm.h"
#include "sluice/platform/parallel_for.h"

namespace {

using sluice::operators::math::Gemm;

template <typename T>
std::vector<T> Random(int64_t count) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> values(count);
  for (T& value : values) {
    value = uniform(engine);
  }
  return values;
}

// Ends the program if the last element of c differs from the sum, in double, of
// the products of a's last row and b's last column.
template <typename T>
void CheckLastElement(int64_t m,
                      int64_t n,
                      int64_t k,
                      bool transpose_a,
                      bool transpose_b,
                      const std::vector<T>& a,
                      const std::vector<T>& b,
                      const std::vector<T>& c) {
  double sum = 0;
  double magnitude = 1;
  for (int64_t i = 0; i < k; ++i) {
    const double product =
        double{transpose_a ? a[i * m + m - 1] : a[(m - 1) * k + i]} *
        double{transpose_b ? b[(n - 1) * k + i] : b[i * n + n - 1]};
    sum += product;
    magnitude += std::abs(product);
  }
  if (std::abs(double{c.back()} - sum) <= 1e-5 * magnitude) return;
  std::fprintf(stderr, "gemm: wrong element: %g, expected %g\n",
               double{c.back()}, sum);
  std::exit(1);
}

// Arguments: m, n, k, transpose_a, transpose_b, threads.
template <typename T>
void BM_Gemm(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const bool transpose_a = state.range(3) != 0;
  const bool transpose_b = state.range(4) != 0;
  const sluice::platform::ThreadCountGuard guard(
      static_cast<int>(state.range(5)));
  const std::vector<T> a = Random<T>(m * k), b = Random<T>(k * n);
  std::vector<T> c(m * n);
  for (auto step : state) {
    (void)step;
    Gemm<T>({transpose_a, transpose_b, m, n, k, 1, a.data(),
             transpose_a ? m : k, b.data(), transpose_b ? k : n, 0, c.data(),
             n});
    benchmark::ClobberMemory();
  }
  CheckLastElement(m, n, k, transpose_a, transpose_b, a, b, c);
  const double flops = 2e-9 * static_cast<double>(m * n * k);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void Shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"m", "n", "k", "ta", "tb", "t"});
  // Layers of an MLP and of LeNet, their gradients, one row, and a square.
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{64, 64, 64},
                                           {64, 128, 64},
                                           {64, 64, 128},
                                           {64, 10, 64},
                                           {64, 500, 800},
                                           {64, 10, 500},
                                           {1, 500, 800},
                                           {1, 64, 64},
                                           {1000, 1000, 1000},
                                           {1024, 1024, 1024}}) {
    for (int form = 0; form < 4; ++form) {
      bench->Args({m, n, k, form & 1, form >> 1, 1});
    }
  }
  bench->Args({500, 800, 64, 1, 0, 1});   // weight gradients
  bench->Args({20, 25, 36864, 0, 1, 1});  // of convolutions
  bench->Args({50, 500, 4096, 0, 1, 1});
  bench->Args({500, 50, 4096, 1, 0, 1});
  bench->Args({20, 576, 25, 0, 0, 1});  // convolutions, one image
  bench->Args({50, 64, 500, 0, 0, 1});
  bench->Args({4096, 50, 500, 0, 1, 1});  // all images, NHWC
  bench->Args({1024, 1024, 1024, 0, 0, 2});
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = sluice::bench::InitializeGoogleBenchmark(argc, argv);
  for (auto* bench :
       {benchmark::RegisterBenchmark("BM_Gemm<float>", &BM_Gemm<float>),
        benchmark::RegisterBenchmark("BM_Gemm<double>", &BM_Gemm<double>)}) {
    bench->Apply(&Shapes);
    if (smoke) bench->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
