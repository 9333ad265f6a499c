// The collective ops with NCCL's emulation, on ranks that are processes.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/platform/cuda/rank_processes_emulated.h"
#include "tests/testing/child_process.h"
#include "tests/testing/has_module.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/cuda_emulation/control.h"
#include "sluice/platform/cuda_emulation/nccl_run.h"

namespace sluice::nccl {
namespace {

using cuda_emulation::EnqueuedNcclCalls;
using cuda_emulation::StreamMode;
using ::sluice::testing::ChildBody;
using ::sluice::testing::ChildRank;
using ::sluice::testing::ChildRanks;
using ::sluice::testing::ChildStatus;
using ::sluice::testing::RankWorld;
using ::sluice::testing::RunRanks;
using ::sluice::testing::TwoRanks;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())},
                                   values);
}

// A program of ops with one input and one output.
struct Net {
  Program program;
  Feeds feeds;
  int ops = 0;

  std::string Data(const Tensor& value) {
    const std::string name = "x" + std::to_string(feeds.size());
    program.Data(name, value.dtype(), value.dims());
    feeds.emplace_back(name, value);
    return name;
  }
  std::vector<std::string> Append(const std::string& type,
                                  Program::ArgList inputs,
                                  AttributeMap attributes = {},
                                  int outputs = 1) {
    OpDesc op;
    op.type = type;
    op.inputs = std::move(inputs);
    std::vector<std::string> names;
    for (int i = 0; i < outputs; ++i) {
      names.push_back("t" + std::to_string(ops++));
    }
    op.outputs = {{"Out", names}};
    op.attributes = std::move(attributes);
    program.AppendOp(op);
    return names;
  }
  std::string Add(const std::string& x, const std::string& y) {
    return Append("elementwise_add", {{"X", {x}}, {"Y", {y}}})[0];
  }
  std::string AllReduce(const std::string& x) {
    return Append("c_allreduce_sum", {{"X", {x}}}, {{"ordered", false}})[0];
  }
};

// Runs one op with one tensor on the device.
template <typename T>
std::vector<T> Result(const std::string& op,
                      const std::vector<T>& values,
                      AttributeMap attributes = {}) {
  Net net;
  const std::string x = net.Data(
      Tensor::FromVector<T>({static_cast<int64_t>(values.size())}, values));
  const std::string out = net.Append(op, {{"X", {x}}}, attributes)[0];
  Executor executor(CUDAPlace{0});
  const auto plan = executor.Prepare(net.program, net.feeds, {out});
  EXPECT_EQ(plan->decisions()[0].kernel->key.library, "NCCL") << op;
  return plan->Run(net.feeds)[0].template ToVector<T>();
}

class NCCLKernels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!sluice::testing::HasModule("nccl")) {
      GTEST_SKIP() << "NCCL's kernels are not built";
    }
  }
};

// A child's body: joins the ranks, for each order in which streams may run.
int OnRanks(const std::function<void()>& body) {
  RankWorld world;
  SetWorld(&world);
  for (const StreamMode mode :
       {StreamMode::kLazy, StreamMode::kOthers, StreamMode::kEager}) {
    cuda_emulation::GetOptions().streams = mode;
    body();
  }
  SetWorld(nullptr);
  return ChildStatus();
}

int EveryOp() {
  return OnRanks([] {
    const auto rank = static_cast<float>(ChildRank());
    const AttributeMap in_any_order = {{"ordered", false}};
    const AttributeMap ranks = {{"nranks", int64_t{ChildRanks()}}};
    EXPECT_EQ(Result<float>("c_allreduce_sum", {rank, 1}, in_any_order),
              (std::vector<float>{1, 2}));
    EXPECT_EQ(
        Result<int64_t>("c_allreduce_sum", {int64_t{1} << 40}, in_any_order),
        (std::vector<int64_t>{int64_t{1} << 41}));
    EXPECT_EQ(Result<int32_t>("c_allreduce_max", {ChildRank(), -1}),
              (std::vector<int32_t>{1, -1}));
    EXPECT_EQ(
        Result<float>("c_broadcast", {rank + 5, rank}, {{"root", int64_t{1}}}),
        (std::vector<float>{6, 1}));
    EXPECT_EQ(Result<float>("c_allgather", {rank, 7}, ranks),
              (std::vector<float>{0, 7, 1, 7}));
    EXPECT_EQ(Result<float>("c_reducescatter", {1, 2, 3, rank}, ranks),
              ChildRank() == 0 ? (std::vector<float>{2, 4})
                               : (std::vector<float>{6, 1}));
    EXPECT_EQ(Result<float>("barrier", {rank, 3}),
              (std::vector<float>{rank, 3}));
  });
}
const ChildBody kEveryOp("nccl_every_op", &EveryOp);

TEST_F(NCCLKernels, EveryOpGivesWhatAllRanksMake) {
  RunRanks(2, "nccl_every_op");
}

// NCCL itself would lose the NaN.
int MaximumOfSpecialNumbers() {
  return OnRanks([] {
    const bool first = ChildRank() == 0;
    const auto floats = Result<float>(
        "c_allreduce_max",
        {first ? kNaN : 2, first ? 2 : -kNaN, -kInfinity, first ? -3.5F : -2.5F,
         first ? 0.0F : -0.0F, first ? kInfinity : 1});
    EXPECT_TRUE(std::isnan(floats[0]) && std::isnan(floats[1]));
    EXPECT_EQ(floats[2], -kInfinity);
    EXPECT_EQ(floats[3], -2.5F);
    EXPECT_TRUE(floats[4] == 0 && !std::signbit(floats[4]));
    EXPECT_EQ(floats[5], kInfinity);
    const auto doubles = Result<double>("c_allreduce_max",
                                        {first ? NAN : 2, first ? -1e300 : -2});
    EXPECT_TRUE(std::isnan(doubles[0]));
    EXPECT_EQ(doubles[1], -2);
  });
}
const ChildBody kMaximum("nccl_maximum", &MaximumOfSpecialNumbers);

TEST_F(NCCLKernels, NaNIsTheLargest) {
  RunRanks(2, "nccl_maximum");
}

// Results of ops for one collective op are one message; feeds are not.
int Bucket() {
  return OnRanks([] {
    Net net;
    const std::string x = net.Data(Floats({1, 2, 3}));
    std::vector<std::string> bucket;
    for (int i = 0; i < 3; ++i) {
      bucket.push_back(net.Add(bucket.empty() ? x : bucket.back(), x));
    }
    std::vector<std::string> sources;
    for (const std::string& each : bucket) {
      sources.push_back(net.Add(each, x));
    }
    const auto sums = net.Append("c_allreduce_sum", {{"X", sources}},
                                 {{"ordered", false}}, 3);
    Executor executor(CUDAPlace{0});
    const auto plan =
        executor.Prepare(net.program, net.feeds, {sums.begin(), sums.end()});
    const uint64_t before = EnqueuedNcclCalls();
    const auto results = plan->Run(net.feeds);
    EXPECT_EQ(EnqueuedNcclCalls() - before, 1u);
    for (size_t i = 0; i < 3; ++i) {
      const float times = 2 * static_cast<float>(i + 3);
      EXPECT_EQ(results[i].ToVector<float>(),
                (std::vector<float>{times, 2 * times, 3 * times}));
    }
    const auto fed =
        net.Append("c_allreduce_sum", {{"X", {x, x}}}, {{"ordered", false}}, 2);
    const uint64_t first = EnqueuedNcclCalls();
    executor.Run(net.program, net.feeds, {fed[0], fed[1]});
    EXPECT_EQ(EnqueuedNcclCalls() - first, 2u);
  });
}
const ChildBody kBucket("nccl_bucket", &Bucket);

TEST_F(NCCLKernels, ABucketIsOneMessage) {
  RunRanks(2, "nccl_bucket");
}

int Waits(const Plan& plan) {
  int waits = 0;
  for (const auto& step : plan.instructions()) {
    waits += step.kind == InstructionKind::kWait ||
             step.kind == InstructionKind::kQueueWait;
  }
  return waits;
}

// Each wait of a plan is needed: without it the results differ if streams run
// as late as possible, or if others run before them.
int MissingWaits() {
  RankWorld world;
  SetWorld(&world);
  Net net;
  const std::string x = net.Data(Floats({1, 2}));
  const std::string sum = net.AllReduce(net.Add(x, x));
  const std::string beside = net.Add(net.Add(x, x), x);
  const std::string second = net.AllReduce(net.Add(sum, beside));
  // The first two are copied when a collective is done, whatever kernels do.
  const Fetches fetches = {sum, second, net.Add(second, beside)};
  Executor executor(CUDAPlace{0});
  const auto whole = executor.Prepare(net.program, net.feeds, fetches);
  const int waits = Waits(*whole);
  EXPECT_GE(waits, 6);
  for (int dropped = 0; dropped < waits; ++dropped) {
    Executor broken(CUDAPlace{0}, {.drop_wait_for_testing = dropped});
    const auto plan = broken.Prepare(net.program, net.feeds, fetches);
    for (int round = 0; round < 3; ++round) {
      const auto value = static_cast<float>(7 * round + dropped);
      const Feeds feeds = {{"x0", Floats({value, value + 1})}};
      const auto right = whole->Run(feeds);
      EXPECT_EQ(right[2].ToVector<float>(),
                (std::vector<float>{17 * value, 17 * value + 17}));
      bool noticed = false;
      for (const StreamMode mode : {StreamMode::kLazy, StreamMode::kOthers}) {
        cuda_emulation::GetOptions().streams = mode;
        const auto results = plan->Run(feeds);
        for (size_t i = 0; i < right.size(); ++i) {
          noticed |= results[i].ToVector<float>() != right[i].ToVector<float>();
        }
      }
      EXPECT_TRUE(noticed) << "wait " << dropped << " of " << waits;
    }
  }
  SetWorld(nullptr);
  return ChildStatus();
}
const ChildBody kMissingWaits("nccl_missing_waits", &MissingWaits);

TEST_F(NCCLKernels, EveryMissingWaitIsNoticed) {
  RunRanks(2, "nccl_missing_waits");
}

// The values of a program after one run of the unfused ops.
std::vector<std::vector<float>> Values(const Net& net, const Fetches& fetches) {
  Executor executor(CUDAPlace{0}, {.passes = false});
  std::vector<std::vector<float>> values;
  for (const Tensor& each : executor.Run(net.program, net.feeds, fetches)) {
    values.push_back(each.ToVector<float>());
  }
  return values;
}

int MemoryAfter() {
  return OnRanks([] {
    Net net;
    const std::string x = net.Data(Floats({1, 2}));
    const std::string y = net.Data(Floats({10, 20}));
    const std::string given = net.Add(y, y);
    const std::string all = net.Append("c_allgather", {{"X", {given}}},
                                       {{"nranks", int64_t{2}}})[0];
    // It might share memory with `given`, which the collective reads later.
    const std::string other = net.Add(net.Add(net.Add(x, x), x), x);
    EXPECT_EQ(Values(net, {other, all}),
              (std::vector<std::vector<float>>{{4, 8}, {20, 40, 20, 40}}));
  });
}
const ChildBody kMemoryAfter("nccl_memory_after", &MemoryAfter);

TEST_F(NCCLKernels, KernelsDoNotWriteToWhatACollectiveHasYetToRead) {
  RunRanks(2, "nccl_memory_after");
}

int MemoryBefore() {
  return OnRanks([] {
    Net net;
    const std::string x = net.Data(Floats({1, 2}));
    const std::string other = net.Add(net.Add(net.Add(x, x), x), x);
    // It might share memory with the first sum, which is computed later: the
    // collective reads only a feed, and has to run before the next one.
    const std::string sum = net.AllReduce(x);
    const std::string first = net.AllReduce(x);
    EXPECT_EQ(Values(net, {first, net.Add(sum, other)}),
              (std::vector<std::vector<float>>{{2, 4}, {6, 12}}));
  });
}
const ChildBody kMemoryBefore("nccl_memory_before", &MemoryBefore);

TEST_F(NCCLKernels, ACollectiveDoesNotWriteToWhatKernelsHaveYetToUse) {
  RunRanks(2, "nccl_memory_before");
}

TEST_F(NCCLKernels, OpsThatDoNotNeedItRunBesideACollective) {
  const TwoRanks world;
  Net net;
  const std::string x = net.Data(Floats({1, 2}));
  const std::string sum = net.AllReduce(net.Add(x, x));
  const std::string beside = net.Add(net.Add(x, x), x);
  Executor executor(CUDAPlace{0});
  const auto plan =
      executor.Prepare(net.program, net.feeds, {net.Add(sum, beside)});
  std::string steps;
  for (const auto& step : plan->instructions()) {
    if (step.device < 0) continue;
    const QueueRole role = plan->queues()[step.device].role;
    const bool waits = step.kind == InstructionKind::kQueueWait;
    const bool copies = role != QueueRole::kKernels && role != QueueRole::kOwn;
    if (copies || step.kind == InstructionKind::kWait) continue;
    if (waits && plan->queues()[step.from].role == QueueRole::kCopyFromHost) {
      continue;
    }
    steps += std::string(waits ? "wait" : "run") +
             (role == QueueRole::kOwn ? " collective, " : " kernel, ");
  }
  EXPECT_EQ(steps,
            "run kernel, wait collective, run collective, run kernel, run "
            "kernel, wait kernel, run kernel, ");
}

TEST_F(NCCLKernels, RefuseAnOrderAndDTypesThatNCCLDoesNotHave) {
  const TwoRanks world;
  const auto library = [](const std::string& op, DType dtype,
                          AttributeMap attributes) {
    Net net;
    net.program.Data("x", dtype, {2});
    const std::string out = net.Append(op, {{"X", {"x"}}}, attributes)[0];
    Executor executor(CUDAPlace{0});
    Tensor x;
    x.Resize({2}).mutable_data(dtype, CPUPlace());
    const Feeds feeds = {{"x", x}};
    const auto plan = executor.Prepare(net.program, feeds, {out});
    return plan->decisions()[0].kernel->key.library;
  };
  EXPECT_EQ(library("c_allreduce_sum", DType::kFloat16, {{"ordered", false}}),
            "NCCL");
  EXPECT_EQ(library("c_allreduce_sum", DType::kFloat32, {{"ordered", true}}),
            "MPI");
  EXPECT_EQ(library("c_allreduce_sum", DType::kInt16, {{"ordered", false}}),
            "MPI");
  EXPECT_EQ(library("c_allreduce_max", DType::kBFloat16, {}), "MPI");
  EXPECT_EQ(library("c_broadcast", DType::kInt16, {{"root", int64_t{0}}}),
            "NCCL");
}

TEST_F(NCCLKernels, WithOneRankTheInputIsCopied) {
  Net net;
  const std::string x = net.Data(Floats({1, 2}));
  const std::string sum = net.AllReduce(net.Add(x, x));
  const std::string fed = net.AllReduce(x);
  Executor executor(CUDAPlace{0});
  const auto plan = executor.Prepare(net.program, net.feeds, {sum, fed});
  for (const auto& decision : plan->decisions()) {
    EXPECT_EQ(decision.place, PlaceKey(CUDAPlace{0}));
  }
  const auto results = plan->Run(net.feeds);
  EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(results[1].ToVector<float>(), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace sluice::nccl
