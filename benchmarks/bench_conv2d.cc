// conv2d and pool2d of LeNet at batch 64 and of one larger network, each
// direction and layout alone, through prepared plans. A Google Benchmark
// program; SLUICE_KERNEL_HINTS chooses kernels, e.g. "require library=PLAIN". A
// smoke run uses small images, and compares with the reference kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_util.h"
#include <benchmark/benchmark.h>

#include "sluice/framework/op/op_desc.h"
#include "sluice/lab.h"
#include "sluice/sluice.h"

namespace {

using sluice::DDim;
using sluice::DType;
using sluice::Feeds;
using sluice::Tensor;
using sluice::framework::AttributeMap;
using Ints = std::vector<int64_t>;

struct Sizes {
  const char* name;
  int64_t n, in_c, size, out_c, kernel, padding, groups;

  int64_t out_size() const { return size + 2 * padding - kernel + 1; }
  double multiply_adds() const {
    return static_cast<double>(n * out_size() * out_size() * out_c * in_c /
                               groups * kernel * kernel);
  }
};

constexpr Sizes kConvolutions[] = {{"lenet1", 64, 1, 28, 20, 5, 0, 1},
                                   {"lenet2", 64, 20, 12, 50, 5, 0, 1},
                                   {"resnet", 8, 64, 56, 64, 3, 1, 1},
                                   {"pointwise", 8, 64, 56, 64, 1, 0, 1},
                                   {"depthwise", 8, 64, 56, 64, 3, 1, 64}};

Tensor Random(const DDim& dims) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (float& value : values) {
    value = uniform(engine);
  }
  return Tensor::FromVector(dims, values);
}

DDim Image(int64_t n, int64_t c, int64_t size, bool nhwc) {
  return nhwc ? DDim{n, size, size, c} : DDim{n, c, size, size};
}

bool smoke = false;

// Registers a benchmark.
void Register(const std::string& name,
              const std::function<void(benchmark::State&)>& run) {
  auto* bench = benchmark::RegisterBenchmark(name.c_str(), run);
  bench->Unit(benchmark::kMicrosecond);
  if (smoke) bench->Iterations(1);
}

// Ends the program if the op's kernel and the plain one differ.
void CheckResult(const sluice::Program& program, const Feeds& inputs) {
  const auto comparison = sluice::Compare(
      program, inputs, "default", "reference", {.budget_seconds = 1e-3});
  if (comparison.first_difference < 0) return;
  std::fprintf(stderr, "%s", ToString(comparison).c_str());
  std::exit(1);
}

// Times one op on one thread.
void Run(benchmark::State& state,
         const std::string& type,
         const Feeds& inputs,
         const AttributeMap& attributes,
         const std::string& output,
         double multiply_adds) {
  sluice::Program program;
  sluice::framework::OpDesc op;
  op.type = type;
  op.attributes = attributes;
  for (const auto& [name, tensor] : inputs) {
    program.Data(name, DType::kFloat32, tensor.dims());
    op.inputs.push_back({name, {name}});
  }
  op.outputs.push_back({output, {output}});
  program.AppendOp(op);
  const sluice::platform::ThreadCountGuard one(1);
  sluice::Executor executor;
  const auto plan = executor.Prepare(program, inputs, {output});
  if (smoke) CheckResult(program, inputs);
  for (auto step : state) {
    benchmark::DoNotOptimize(plan->Run(inputs));
  }
  if (multiply_adds > 0) {
    state.counters["GMAC/s"] = benchmark::Counter(
        multiply_adds * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  }
}

void AddConvolution(const Sizes& s, bool nhwc) {
  const AttributeMap attributes = {
      {"paddings", Ints{s.padding, s.padding}},
      {"groups", s.groups},
      {"data_format", std::string(nhwc ? "NHWC" : "NCHW")}};
  const Tensor x = Random(Image(s.n, s.in_c, s.size, nhwc));
  const Tensor w = Random({s.out_c, s.in_c / s.groups, s.kernel, s.kernel});
  const Tensor y = Random(Image(s.n, s.out_c, s.out_size(), nhwc));
  const Tensor bias = Random({s.out_c});
  const auto add = [&](const std::string& op, const Feeds& inputs,
                       const std::string& output) {
    Register(op + "/" + s.name + (nhwc ? "/NHWC" : "/NCHW"),
             [=](benchmark::State& state) {
               Run(state, op, inputs, attributes, output, s.multiply_adds());
             });
  };
  add("conv2d", {{"Input", x}, {"Filter", w}, {"Bias", bias}}, "Output");
  add("conv2d_grad_input", {{"Input", x}, {"Filter", w}, {"Output@GRAD", y}},
      "Input@GRAD");
  add("conv2d_grad_filter", {{"Input", x}, {"Filter", w}, {"Output@GRAD", y}},
      "Filter@GRAD");
}

void AddPool(const char* type, int64_t channels, int64_t size, bool nhwc) {
  const AttributeMap attributes = {
      {"ksize", Ints{2, 2}},
      {"strides", Ints{2, 2}},
      {"pooling_type", std::string(type)},
      {"data_format", std::string(nhwc ? "NHWC" : "NCHW")}};
  const Tensor x = Random(Image(64, channels, size, nhwc));
  const Tensor out =
      sluice::framework::RunOp("pool2d", {{"X", x}}, attributes).at("Out");
  const auto add = [&](const std::string& op, const Feeds& inputs,
                       const std::string& output) {
    const std::string name = op + "/" + type + "/" + std::to_string(channels) +
                             (nhwc ? "/NHWC" : "/NCHW");
    Register(name, [=](benchmark::State& state) {
      Run(state, op, inputs, attributes, output, 0);
    });
  };
  add("pool2d", {{"X", x}}, "Out");
  add("pool2d_grad", {{"X", x}, {"Out", out}, {"Out@GRAD", out}}, "X@GRAD");
}

}  // namespace

int main(int argc, char** argv) {
  smoke = sluice::bench::InitializeGoogleBenchmark(argc, argv);
  for (const bool nhwc : {false, true}) {
    for (Sizes sizes : kConvolutions) {
      if (smoke) {
        sizes.n = 2;
        sizes.size = std::min<int64_t>(sizes.size, 14);
      }
      AddConvolution(sizes, nhwc);
    }
    for (const char* type : {"max", "avg"}) {
      AddPool(type, 20, 24, nhwc);
      AddPool(type, 50, 8, nhwc);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
