#include "sluice/memory/copy.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/memory/fake_kind.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/memory/memory.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::FakeDeviceState;
using sluice::testing::FakeKind;

FakeKind& Fake() {
  static auto* fake = new FakeKind("copy_test");
  return *fake;
}

PlaceKey PlaceOf(int number) {
  return number == 0 ? PlaceKey(CPUPlace{}) : Fake().place(number - 1);
}

std::vector<char> Pattern(size_t bytes) {
  std::vector<char> data(bytes);
  std::iota(data.begin(), data.end(), static_cast<char>(bytes));
  return data;
}

// 0 is the CPU, 1 and 2 are fake devices.
class CopyBetween : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(CopyBetween, BringsEveryByte) {
  const PlaceKey to_place = PlaceOf(std::get<0>(GetParam()));
  const PlaceKey from_place = PlaceOf(std::get<1>(GetParam()));
  for (size_t bytes : {size_t{1}, size_t{1000}, (size_t{5} << 19) + 3}) {
    const std::vector<char> sent = Pattern(bytes);
    std::vector<char> got(bytes);
    const UniqueMemory from = AllocUnique(from_place, bytes);
    const UniqueMemory to = AllocUnique(to_place, bytes);
    Copy(from_place, from.get(), CPUPlace{}, sent.data(), bytes);
    Copy(to_place, to.get(), from_place, from.get(), bytes);
    Copy(CPUPlace{}, got.data(), to_place, to.get(), bytes);
    EXPECT_EQ(got, sent);
  }
}

INSTANTIATE_TEST_SUITE_P(AllPlaces,
                         CopyBetween,
                         ::testing::Combine(::testing::Values(0, 1, 2),
                                            ::testing::Values(0, 1, 2)));

TEST(CopyTest, UsesTheCopyThatTheDirectionNeedsAndWaits) {
  const PlaceKey place = Fake().place(0);
  FakeDeviceState& state = Fake().state(0);
  const UniqueMemory a = AllocUnique(place, 64);
  const UniqueMemory b = AllocUnique(place, 64);
  char host[64] = {};
  const FakeDeviceState before = state;
  Copy(place, a.get(), CPUPlace{}, host, 64);
  Copy(place, b.get(), place, a.get(), 64);
  Copy(CPUPlace{}, host, place, b.get(), 64);
  EXPECT_EQ(state.copies_from_host, before.copies_from_host + 1);
  EXPECT_EQ(state.copies_on_device, before.copies_on_device + 1);
  EXPECT_EQ(state.copies_to_host, before.copies_to_host + 1);
  EXPECT_GE(state.waits, before.waits + 3);
}

TEST(CopyTest, BetweenDevicesStagesInPiecesOfOneMiB) {
  const size_t bytes = size_t{5} << 19;
  const UniqueMemory from = AllocUnique(Fake().place(0), bytes);
  const UniqueMemory to = AllocUnique(Fake().place(1), bytes);
  const int before = Fake().state(0).copies_to_host;
  const size_t used = Used(CPUPlace{});
  Copy(Fake().place(1), to.get(), Fake().place(0), from.get(), bytes);
  EXPECT_EQ(Fake().state(0).copies_to_host, before + 3);
  EXPECT_EQ(Used(CPUPlace{}), used);
}

TEST(CopyTest, NothingToCopyTouchesNothing) {
  Copy(CUDAPlace{}, nullptr, CPUPlace{}, nullptr, 0);
}

TEST(CopyTest, ANullPointerIsANamedError) {
  char byte = 0;
  ExpectError(ErrorCode::kInvalidArgument, "copy.to", {"1 bytes", "cpu"},
              [&] { Copy(CPUPlace{}, nullptr, CPUPlace{}, &byte, 1); });
  ExpectError(ErrorCode::kInvalidArgument, "copy.from",
              {"1 bytes", "from cpu to copy_test:0"},
              [&] { Copy(Fake().place(0), &byte, CPUPlace{}, nullptr, 1); });
}

TEST(CopyTest, AFailingDeviceLeaksNothingAndTheNextCopyWorks) {
  const PlaceKey place = Fake().place(1);
  const UniqueMemory memory = AllocUnique(place, 64);
  char host[64] = {};
  const size_t used = Used(CPUPlace{});
  Fake().state(1).failing_waits = true;
  EXPECT_ANY_THROW(Copy(CPUPlace{}, host, place, memory.get(), 64));
  EXPECT_ANY_THROW(Copy(Fake().place(0), host, place, memory.get(), 64));
  Fake().state(1).failing_waits = false;
  Copy(CPUPlace{}, host, place, memory.get(), 64);
  EXPECT_EQ(Used(CPUPlace{}), used);
}

TEST(CopyAsyncTest, EnqueuesOnTheContextWithoutWaiting) {
  const PlaceKey place = Fake().place(0);
  const auto context = DeviceContextPool::Instance().Acquire(place);
  const UniqueMemory device = AllocUnique(place, 8);
  const char sent[8] = "sluice!";
  char got[8] = {};
  const int waits = Fake().state(0).waits;
  CopyAsync(*context, place, device.get(), CPUPlace{}, sent, 8);
  CopyAsync(*context, CPUPlace{}, got, place, device.get(), 8);
  EXPECT_EQ(Fake().state(0).waits, waits);
  context->Wait();
  EXPECT_STREQ(got, "sluice!");
}

TEST(CopyAsyncTest, HostToHostWaitsForWhatTheDeviceStillDoes) {
  const auto context = DeviceContextPool::Instance().Acquire(Fake().place(0));
  const int waits = Fake().state(0).waits;
  const char sent = 'x';
  char got = 0;
  CopyAsync(*context, CPUPlace{}, &got, CPUPlace{}, &sent, 1);
  EXPECT_EQ(got, 'x');
  EXPECT_EQ(Fake().state(0).waits, waits + 1);
}

TEST(CopyAsyncTest, RefusesPlacesThatAreNotTheContexts) {
  const auto context = DeviceContextPool::Instance().Acquire(Fake().place(0));
  char byte = 0;
  ExpectError(ErrorCode::kInvalidArgument, "copy.context",
              {"copy_test:0", "from cpu to copy_test:1"}, [&] {
                CopyAsync(*context, Fake().place(1), &byte, CPUPlace{}, &byte,
                          1);
              });
  ExpectError(ErrorCode::kInvalidArgument, "copy.context",
              {"from copy_test:1 to cpu"}, [&] {
                CopyAsync(*context, CPUPlace{}, &byte, Fake().place(1), &byte,
                          1);
              });
}

}  // namespace
}  // namespace sluice
