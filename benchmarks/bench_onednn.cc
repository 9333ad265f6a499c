// The cost of oneDNN's kernels in a plan: their overhead over the raw
// primitive, and convolution, batch norm and relu compared with oneDNN's.
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "benchmarks/bench_util.h"
#include <dnnl.hpp>

#include "sluice/platform/library_call.h"
#include "sluice/sluice.h"

namespace {

using sluice::bfloat16;
using sluice::DType;
using sluice::Feeds;
using sluice::Tensor;
using sluice::bench::MedianSeconds;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;
using Desc = dnnl::memory::desc;

constexpr int kOps = 200;
constexpr int64_t kSize = 16;

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Seconds by which a small product as an op of a plan is slower than a direct
// call of the library, which no runtime can beat.
double MatmulOverhead(double seconds) {
  const Desc square({kSize, kSize}, Type::f32, Tag::ab);
  const dnnl::matmul::primitive_desc description(Engine(), square, square,
                                                 square, UserScratchpad());
  const dnnl::matmul matmul(description);
  dnnl::stream stream(Engine());
  std::vector<dnnl::memory> memories(3, dnnl::memory());
  for (auto& memory : memories) {
    memory = dnnl::memory(square, Engine());
    std::memset(memory.get_data_handle(), 0, square.get_size());
  }
  const dnnl::memory scratchpad(description.scratchpad_desc(), Engine());
  const std::vector<dnnl_exec_arg_t> arguments = {
      {DNNL_ARG_SRC, memories[0].get()},
      {DNNL_ARG_WEIGHTS, memories[1].get()},
      {DNNL_ARG_DST, memories[2].get()},
      {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
  const auto raw = [&] {
    const sluice::LibraryCall one_thread(1);
    for (int i = 0; i < kOps; ++i) {
      dnnl_primitive_execute(matmul.get(), stream.get(),
                             static_cast<int>(arguments.size()),
                             arguments.data());
    }
  };

  // A chain of products, each as a separate op.
  const sluice::KernelHintGuard guard("require library=ONEDNN");
  sluice::Program program;
  auto product = program.Data("x", DType::kFloat32, {kSize, kSize});
  const auto y = program.Data("y", DType::kFloat32, {kSize, kSize});
  for (int i = 0; i < kOps; ++i) {
    product = sluice::ops::Matmul(product, y);
  }
  std::vector<float> identity(kSize * kSize, 0);
  for (int64_t i = 0; i < kSize; ++i) {
    identity[i * kSize + i] = 1;
  }
  const Feeds feeds = {
      {"x", Tensor::FromVector<float>({kSize, kSize}, identity)},
      {"y", Tensor::FromVector<float>({kSize, kSize}, identity)}};
  sluice::Executor executor;
  const auto plan = executor.Prepare(program, feeds, {product});
  if (plan->Run(feeds)[0].ToVector<float>() != identity) {
    std::cerr << "the chain computed something else\n";
    std::exit(1);
  }
  return sluice::bench::MedianDifference(seconds, raw,
                                         [&] { plan->Run(feeds); }) /
         kOps;
}

constexpr int64_t kImages = 32, kChannels = 64, kPixels = 56;

// Convolution, bias and relu as one primitive, in its preferred layouts: the
// minimum for the network once batch norm is folded.
double RawConvSeconds(double seconds, int threads) {
  const sluice::LibraryCall call(threads);
  const dnnl::memory::dims image = {kImages, kChannels, kPixels, kPixels};
  const Desc any(image, Type::f32, Tag::any);
  const Desc filter({kChannels, kChannels, 3, 3}, Type::f32, Tag::any);
  const Desc bias({kChannels}, Type::f32, Tag::a);
  dnnl::primitive_attr attributes = UserScratchpad();
  dnnl::post_ops relu;
  relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(relu);
  const dnnl::convolution_forward::primitive_desc description(
      Engine(), dnnl::prop_kind::forward_inference,
      dnnl::algorithm::convolution_direct, any, filter, bias, any, {1, 1},
      {1, 1}, {1, 1}, attributes);
  const dnnl::convolution_forward conv(description);
  dnnl::stream stream(Engine());
  std::unordered_map<int, dnnl::memory> arguments;
  for (const int argument : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
                             DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD}) {
    const Desc desc = description.query_md(dnnl::query::exec_arg_md, argument);
    const dnnl::memory memory(desc, Engine());
    if (desc.get_size() > 0) {
      std::memset(memory.get_data_handle(), 0, desc.get_size());
    }
    arguments.emplace(argument, memory);
  }
  return MedianSeconds(seconds, [&] { conv.execute(stream, arguments); });
}

template <typename T>
T FromFloat(float value) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return {static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16)};
  } else {
    return value;
  }
}

template <typename T>
Tensor Ramp(const sluice::DDim& dims) {
  std::vector<T> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = FromFloat<T>(static_cast<float>(i % 97) / 97);
  }
  return Tensor::FromVector<T>(dims, values);
}

// A program with one result on NHWC images; its inputs are ramps.
struct Network {
  sluice::Program program;
  sluice::Scope scope;
  sluice::Var out{};

  template <typename T>
  sluice::Var Parameter(const char* name, const sluice::DDim& dims) {
    *scope.Var(name).GetMutable<Tensor>() = Ramp<T>(dims);
    return program.Persistable(name, sluice::kDTypeOf<T>, dims);
  }
};

struct Measured {
  double seconds = 0;
  double mean = 0;  // mean of the result's elements
};

// The result is not negative, so that its mean is meaningful.
template <typename T>
Measured RunNetwork(Network& network, double seconds) {
  const Feeds feeds = {{"x", Ramp<T>({kImages, kPixels, kPixels, kChannels})}};
  sluice::Executor executor;
  const auto plan = executor.Prepare(network.program, feeds, {network.out});
  const auto out = plan->Run(feeds, &network.scope)[0];
  const auto result =
      sluice::RunOp("cast", {{"X", out}}, {{"dtype", DType::kFloat64}});
  const auto elements = result.at("Out").ToVector<double>();
  double sum = 0;
  for (const double element : elements)
    sum += element;
  return {MedianSeconds(seconds, [&] { plan->Run(feeds, &network.scope); }),
          sum / static_cast<double>(elements.size())};
}

// Convolution, batch norm and relu in a plan, as three ops.
Measured PlanConv(double seconds) {
  Network network;
  const auto x = network.program.Data("x", DType::kFloat32,
                                      {kImages, kPixels, kPixels, kChannels});
  const auto conv = sluice::ops::Conv2d(
      x, network.Parameter<float>("filter", {kChannels, kChannels, 3, 3}),
      {.paddings = {1, 1}, .data_format = "NHWC"});
  const sluice::DDim channels = {kChannels};
  const auto norm = sluice::ops::BatchNorm(
      conv, network.Parameter<float>("scale", channels),
      network.Parameter<float>("shift", channels),
      network.Parameter<float>("mean", channels),
      network.Parameter<float>("variance", channels),
      {.epsilon = 1, .is_test = true, .data_format = "NHWC"});
  network.out = sluice::ops::Relu(norm.y);
  return RunNetwork<float>(network, seconds);
}

// A bfloat16 variant. batch norm has no bfloat16, so filter and bias are
// assumed to have it folded in.
Measured PlanHalfConv(double seconds) {
  Network network;
  const auto x = network.program.Data("x", DType::kBFloat16,
                                      {kImages, kPixels, kPixels, kChannels});
  const auto conv = sluice::ops::Conv2d(
      x, network.Parameter<bfloat16>("filter", {kChannels, kChannels, 3, 3}),
      {.paddings = {1, 1},
       .data_format = "NHWC",
       .bias = network.Parameter<bfloat16>("bias", {kChannels})});
  network.out = sluice::ops::Relu(conv);
  return RunNetwork<bfloat16>(network, seconds);
}

// Whether the CPU multiplies tiles of bfloat16, according to the kernel.
bool HasAmx() {
  std::ifstream file("/proc/cpuinfo");
  std::string word;
  while (file >> word) {
    if (word == "amx_bf16") return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "oneDNN's kernels beside oneDNN itself.");
  sluice::SetNumThreads(1);
  sluice::bench::Report report;
  report.Add({.id = "onednn/overhead_ns",
              .unit = "ns",
              .value = MatmulOverhead(4 * options.seconds) * 1e9,
              .at_most = 150});
  sluice::SetNumThreads(options.threads);
  const std::string threads = std::to_string(options.threads);
  const Measured conv = PlanConv(options.seconds);
  report.Add({.id = "infer/conv_bn_relu/f32/t" + threads,
              .unit = "ms",
              .value = conv.seconds * 1e3,
              .limit = RawConvSeconds(options.seconds, options.threads) * 1e3,
              .of_best = 0.9});
  std::vector<std::string> arguments = {"--threads", threads, "--mean",
                                        std::to_string(conv.mean)};
  const std::string half = "infer/conv_bn_relu/bf16/t" + threads;
  if (HasAmx()) {
    const Measured measured = PlanHalfConv(options.seconds);
    report.Add({.id = half,
                .unit = "ms",
                .value = measured.seconds * 1e3,
                .of_best = 0.6});
    arguments.insert(arguments.end(),
                     {"--half-mean", std::to_string(measured.mean)});
  } else {
    report.LeaveOut(half, "this CPU has no AMX");
  }
  report.SetPeers("onednn", arguments);
  return report.Finish(options);
}
