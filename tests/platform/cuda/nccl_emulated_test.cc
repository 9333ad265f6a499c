// The emulation of NCCL: its errors, the order of execution, and the results of
// several ranks, each a separate process.
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

#include "tests/platform/cuda/emulated_cuda_test.h"
#include "tests/platform/cuda/rank_processes_emulated.h"
#include "tests/testing/child_process.h"
#include <gmock/gmock.h>
#include <nccl.h>
#include <unistd.h>

namespace sluice {
namespace {

using cuda_emulation::RankGroup;
using cuda_emulation::StreamMode;
using ::sluice::testing::ChildBody;
using ::sluice::testing::ChildRank;
using ::sluice::testing::ChildRanks;
using ::sluice::testing::ChildStatus;
using ::sluice::testing::DeviceArray;
using ::sluice::testing::RunRanks;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ncclUniqueId IdOf(const std::string& name) {
  ncclUniqueId id{};
  name.copy(id.internal, sizeof(id.internal) - 1);
  return id;
}

// Tests with one rank.
class NCCLEmulated : public ::sluice::testing::EmulatedCUDATest {
 protected:
  void SetUp() override {
    EmulatedCUDATest::SetUp();
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(ncclCommInitRank(&communicator_, 1, id, 0), ncclSuccess);
  }
  void TearDown() override { ncclCommDestroy(communicator_); }

  ncclResult_t Sum(const void* from, void* to, size_t count) {
    return ncclAllReduce(from, to, count, ncclFloat32, ncclSum, communicator_,
                         context().stream());
  }
  static std::string LastError() { return ncclGetLastError(nullptr); }

  ncclComm_t communicator_ = nullptr;
};

TEST_F(NCCLEmulated, RefusesWrongArguments) {
  const DeviceArray<float> x(context(), {1, 2});
  float host = 0;
  const auto stream = context().stream();
  EXPECT_EQ(Sum(&host, x.get(), 1), ncclInvalidArgument);
  EXPECT_THAT(LastError(), HasSubstr("is no memory of the device"));
  EXPECT_EQ(Sum(x.get(), nullptr, 1), ncclInvalidArgument);
  EXPECT_EQ(
      ncclAllReduce(x.get(), x.get(), 2, ncclFloat32, ncclSum, nullptr, stream),
      ncclInvalidArgument);
  EXPECT_THAT(LastError(), HasSubstr("is no communicator"));
  EXPECT_EQ(ncclAllReduce(x.get(), x.get(), 2, ncclDataType_t(77), ncclSum,
                          communicator_, stream),
            ncclInvalidArgument);
  EXPECT_THAT(LastError(), HasSubstr("77 is no data type"));
  EXPECT_EQ(ncclAllReduce(x.get(), x.get(), 2, ncclFloat32, ncclProd,
                          communicator_, stream),
            ncclInvalidArgument);
  EXPECT_EQ(
      ncclBroadcast(x.get(), x.get(), 2, ncclFloat32, 1, communicator_, stream),
      ncclInvalidArgument);
  EXPECT_THAT(LastError(), HasSubstr("root 1 of 1 ranks"));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  ncclComm_t other = nullptr;
  EXPECT_EQ(ncclCommInitRank(&other, 2, IdOf("/x"), 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&other, 1, IdOf("/x/y"), 0), ncclSystemError);
  EXPECT_EQ(ncclCommDestroy(other), ncclInvalidArgument);
  EXPECT_STREQ(ncclGetErrorString(ncclInvalidUsage), "invalid usage");
}

TEST_F(NCCLEmulated, RunsWhenTheStreamDoes) {
  const DeviceArray<float> x(context(), {1, 2});
  const DeviceArray<float> y(context(), {0, 0});
  context().Wait();
  CUDADeviceContext other(kPlace);
  ASSERT_EQ(ncclAllReduce(x.get(), y.get(), 2, ncclFloat32, ncclSum,
                          communicator_, other.stream()),
            ncclSuccess);
  EXPECT_EQ(y.Fetch(), (std::vector<float>{0, 0}));
  other.Wait();
  EXPECT_EQ(y.Fetch(), (std::vector<float>{1, 2}));
}

TEST_F(NCCLEmulated, CallsOfOneCommunicatorKeepTheirOrder) {
  const DeviceArray<float> x(context(), {1, 2});
  const DeviceArray<float> y(context(), {0, 0});
  const DeviceArray<float> z(context(), {0, 0});
  context().Wait();
  CUDADeviceContext first(kPlace);
  CUDADeviceContext second(kPlace);
  ncclAllReduce(x.get(), y.get(), 2, ncclFloat32, ncclSum, communicator_,
                first.stream());
  ncclAllReduce(y.get(), z.get(), 2, ncclFloat32, ncclSum, communicator_,
                second.stream());
  second.Wait();
  EXPECT_EQ(z.Fetch(), (std::vector<float>{1, 2}));
}

TEST_F(NCCLEmulated, AGroupIsEnqueuedAtItsEnd) {
  const DeviceArray<float> x(context(), {1, 2});
  const DeviceArray<float> y(context(), {0, 0});
  ncclGroupStart();
  ncclGroupStart();
  ASSERT_EQ(Sum(x.get(), y.get(), 2), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(y.Fetch(), (std::vector<float>{0, 0}));
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(y.Fetch(), (std::vector<float>{1, 2}));
}

TEST_F(NCCLEmulated, MemoryThatEndsTooSoonIsAFault) {
  const DeviceArray<float> x(context(), {1, 2});
  ASSERT_EQ(Sum(x.get(), x.get(), 3), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(context().stream()), cudaErrorIllegalAddress);
  EXPECT_EQ(Sum(x.get(), x.get(), 2), ncclUnhandledCudaError);
}

TEST_F(NCCLEmulated, WhatWasEnqueuedBeforeAnAbortDoesNothing) {
  const DeviceArray<float> x(context(), {1, 2});
  const DeviceArray<float> y(context(), {0, 0});
  ASSERT_EQ(Sum(x.get(), y.get(), 2), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(communicator_), ncclSuccess);
  EXPECT_EQ(y.Fetch(), (std::vector<float>{0, 0}));
  EXPECT_EQ(Sum(x.get(), y.get(), 2), ncclInvalidArgument);
}

// The state of each rank.
struct Rank {
  CUDADeviceContext context{CUDAPlace{0}};
  ncclComm_t communicator = nullptr;

  Rank() {
    EXPECT_EQ(ncclCommInitRank(&communicator, ChildRanks(),
                               IdOf(testing::CommonName("nccl")), ChildRank()),
              ncclSuccess);
  }
  ~Rank() {
    ncclCommDestroy(communicator);
    cuda_emulation::ClearFault();
  }
};

// More than one transfer moves, and not a multiple of it.
constexpr size_t kMany = RankGroup::kChunkBytes / sizeof(float) * 2 + 5;

std::vector<float> Ramp(int rank) {
  std::vector<float> values(kMany);
  std::iota(values.begin(), values.end(), static_cast<float>(1000 * rank));
  return values;
}

int ExchangeAll() {
  Rank rank;
  const auto ranks = static_cast<size_t>(ChildRanks());
  const auto own = static_cast<float>(ChildRank());
  const auto stream = rank.context.stream();
  const DeviceArray<float> x(rank.context, Ramp(ChildRank()));
  ncclAllReduce(x.get(), x.get(), kMany, ncclFloat32, ncclSum,
                rank.communicator, stream);
  const auto sums = x.Fetch();
  for (const size_t i : {size_t{0}, size_t{1}, kMany - 1}) {
    EXPECT_EQ(sums[i], 3 * static_cast<float>(i) + 3000);
  }
  // A NaN is ignored, like in fmax.
  const DeviceArray<float> y(rank.context, {own, ChildRank() == 1 ? kNaN : 5});
  ncclAllReduce(y.get(), y.get(), 2, ncclFloat32, ncclMax, rank.communicator,
                stream);
  EXPECT_EQ(y.Fetch(), (std::vector<float>{2, 5}));
  const DeviceArray<float> z(rank.context, Ramp(ChildRank()));
  ncclBroadcast(z.get(), z.get(), kMany, ncclFloat32, 2, rank.communicator,
                stream);
  EXPECT_EQ(z.Fetch(), Ramp(2));
  const DeviceArray<float> all(rank.context, std::vector<float>(kMany * ranks));
  const DeviceArray<float> part(rank.context, Ramp(ChildRank()));
  ncclAllGather(part.get(), all.get(), kMany, ncclFloat32, rank.communicator,
                stream);
  const auto gathered = all.Fetch();
  for (int from = 0; from < ChildRanks(); ++from) {
    const float* begin = gathered.data() + static_cast<size_t>(from) * kMany;
    EXPECT_EQ(std::vector<float>(begin, begin + kMany), Ramp(from));
  }
  ncclReduceScatter(all.get(), part.get(), kMany, ncclFloat32, ncclSum,
                    rank.communicator, stream);
  const auto scattered = part.Fetch();
  EXPECT_EQ(scattered.front(), 3000 * own);
  EXPECT_EQ(scattered.back(), 3 * Ramp(ChildRank()).back());
  return ChildStatus();
}
const ChildBody kExchangeAll("nccl_exchange_all", &ExchangeAll);

TEST_F(NCCLEmulated, RanksGetWhatTheOthersGave) {
  RunRanks(3, "nccl_exchange_all");
}

int Differ() {
  Rank rank;
  const DeviceArray<float> x(rank.context, {1, 2, 3});
  ncclAllReduce(x.get(), x.get(), ChildRank() == 0 ? 2 : 3, ncclFloat32,
                ncclSum, rank.communicator, rank.context.stream());
  EXPECT_EQ(cudaStreamSynchronize(rank.context.stream()),
            cudaErrorLaunchFailure);
  printf("%s\n", cudaGetErrorString(cudaErrorLaunchFailure));
  return ChildStatus();
}
const ChildBody kDiffer("nccl_differ", &Differ);

TEST_F(NCCLEmulated, RanksThatDifferAreAFault) {
  EXPECT_THAT(RunRanks(2, "nccl_differ"),
              HasSubstr("all-reduce of 2 elements of type 7"));
}

int OneLeaves() {
  auto rank = std::make_unique<Rank>();
  const DeviceArray<float> x(rank->context, {1, 2});
  ncclAllReduce(x.get(), x.get(), 2, ncclFloat32, ncclSum, rank->communicator,
                rank->context.stream());
  if (ChildRank() == 1) {
    ncclCommAbort(rank->communicator);
    EXPECT_EQ(x.Fetch(), (std::vector<float>{1, 2}));
  } else {
    EXPECT_EQ(cudaStreamSynchronize(rank->context.stream()),
              cudaErrorLaunchFailure);
  }
  return ChildStatus();
}
const ChildBody kOneLeaves("nccl_one_leaves", &OneLeaves);

TEST_F(NCCLEmulated, ARankThatGivesUpIsAFaultOfTheOthers) {
  RunRanks(2, "nccl_one_leaves");
}

int OneEnds() {
  Rank rank;
  const DeviceArray<float> x(rank.context, {1, 2});
  if (ChildRank() == 1) _exit(0);
  ncclAllReduce(x.get(), x.get(), 2, ncclFloat32, ncclSum, rank.communicator,
                rank.context.stream());
  EXPECT_EQ(cudaStreamSynchronize(rank.context.stream()),
            cudaErrorLaunchFailure);
  return ChildStatus();
}
const ChildBody kOneEnds("nccl_one_ends", &OneEnds);

TEST_F(NCCLEmulated, ARankThatEndsIsAFaultOfTheOthers) {
  RunRanks(2, "nccl_one_ends");
}

TEST_F(NCCLEmulated, ARankComesOnce) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t first = nullptr;
  ncclComm_t second = nullptr;
  std::thread other([&] { ncclCommInitRank(&first, 2, id, 0); });
  const auto come = [&](int rank) {
    return ncclCommInitRank(&second, 2, id, rank);
  };
  // Without a sleep, this rank could be first.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(come(0), ncclInvalidUsage);
  EXPECT_EQ(come(1), ncclSuccess);
  other.join();
  ncclCommDestroy(first);
  ncclCommDestroy(second);
}

}  // namespace
}  // namespace sluice
