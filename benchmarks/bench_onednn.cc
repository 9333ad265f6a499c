// What oneDNN's kernels cost in a plan: beyond the raw primitive, and a
// convolution, batch norm and relu beside the library's own fused primitive.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <unordered_map>
#include <vector>

#include "benchmarks/bench_util.h"
#include <dnnl.hpp>

#include "sluice/framework/plan/kernel_hints.h"
#include "sluice/platform/library_call.h"
#include "sluice/sluice.h"

namespace {

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

// The same products straight from the library: what no runtime can beat.
double RawMatmulSeconds(double seconds) {
  const sluice::platform::LibraryCall one_thread(1);
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
  const auto count = static_cast<int>(arguments.size());
  return MedianSeconds(seconds,
                       [&] {
                         for (int i = 0; i < kOps; ++i) {
                           dnnl_primitive_execute(matmul.get(), stream.get(),
                                                  count, arguments.data());
                         }
                       }) /
         kOps;
}

// A chain of small products, every one an op of its own.
double PlanMatmulSeconds(double seconds) {
  const sluice::framework::KernelHintGuard guard("require library=ONEDNN");
  sluice::Program program;
  auto product = program.Data("x", DType::kFloat32, {kSize, kSize});
  const auto y = program.Data("y", DType::kFloat32, {kSize, kSize});
  for (int i = 0; i < kOps; ++i)
    product = sluice::ops::Matmul(product, y);
  std::vector<float> identity(kSize * kSize, 0);
  for (int64_t i = 0; i < kSize; ++i)
    identity[i * kSize + i] = 1;
  const Feeds feeds = {
      {"x", Tensor::FromVector<float>({kSize, kSize}, identity)},
      {"y", Tensor::FromVector<float>({kSize, kSize}, identity)}};
  sluice::Executor executor;
  const auto plan = executor.Prepare(program, feeds, {product});
  if (plan->Run(feeds)[0].ToVector<float>() != identity) {
    std::cerr << "the chain computed something else\n";
    std::exit(1);
  }
  return MedianSeconds(seconds, [&] { plan->Run(feeds); }) / kOps;
}

constexpr int64_t kImages = 32, kChannels = 64, kPixels = 56;

// Convolution, bias and relu as one primitive, in the layouts that it likes:
// what batch norm and all come to once they are folded.
double RawConvSeconds(double seconds, int threads) {
  const sluice::platform::LibraryCall call(threads);
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

Tensor Ramp(const sluice::DDim& dims) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 97) / 97;
  }
  return Tensor::FromVector<float>(dims, values);
}

// The same from a plan, as three ops.
double PlanConvSeconds(double seconds, int threads) {
  sluice::SetNumThreads(threads);
  sluice::Program program;
  sluice::Scope scope;
  const auto parameter = [&](const char* name, const sluice::DDim& dims) {
    *scope.Var(name).GetMutable<Tensor>() = Ramp(dims);
    return program.Persistable(name, DType::kFloat32, dims);
  };
  const sluice::DDim image = {kImages, kPixels, kPixels, kChannels};
  const auto x = program.Data("x", DType::kFloat32, image);
  const auto conv =
      sluice::ops::Conv2d(x, parameter("filter", {kChannels, kChannels, 3, 3}),
                          {.paddings = {1, 1}, .data_format = "NHWC"});
  const auto norm = sluice::ops::BatchNorm(
      conv, parameter("scale", {kChannels}), parameter("shift", {kChannels}),
      parameter("mean", {kChannels}), parameter("variance", {kChannels}),
      {.is_test = true, .data_format = "NHWC"});
  const auto out = sluice::ops::Relu(norm.y);
  const Feeds feeds = {{"x", Ramp(image)}};
  sluice::Executor executor;
  const auto plan = executor.Prepare(program, feeds, {out});
  return MedianSeconds(seconds, [&] { plan->Run(feeds, &scope); });
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "oneDNN's kernels beside oneDNN itself.");
  sluice::SetNumThreads(1);
  sluice::bench::Report report;
  // One after the other, several times: clocks change while we measure.
  double overhead = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double raw = RawMatmulSeconds(options.seconds);
    const double plan = PlanMatmulSeconds(options.seconds);
    overhead = std::min(overhead, plan - raw);
  }
  report.Add({"onednn/overhead_ns", "ns", overhead * 1e9});
  report.Add({"infer/conv_bn_relu/f32/t2", "ms",
              PlanConvSeconds(options.seconds, options.threads) * 1e3,
              RawConvSeconds(options.seconds, options.threads) * 1e3});
  if (options.peers) report.MeasurePeers("onednn", {"--threads", "2"});
  return report.Finish(options);
}
