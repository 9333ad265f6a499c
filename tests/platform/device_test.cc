#include "sluice/platform/device.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/expect_error.h"
#include "tests/testing/fake_device.h"
#include "tests/testing/missing_device.h"
#include <gtest/gtest.h>

#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::FakeDevice;
using sluice::testing::FakeDeviceState;

DeviceManager& Manager() {
  return DeviceManager::Instance();
}

DeviceManager::Factory FakeFactory(PlaceKind kind) {
  static FakeDeviceState state;
  return [kind](int index) {
    return std::make_unique<FakeDevice>(PlaceKey(kind, index), &state);
  };
}

// Removes the loader at the end.
struct ScopedLoader {
  explicit ScopedLoader(DeviceManager::KindLoader loader) {
    Manager().SetKindLoader(std::move(loader));
  }
  ~ScopedLoader() { Manager().SetKindLoader(nullptr); }
};

TEST(DeviceManagerTest, TheCpuIsAlwaysThere) {
  EXPECT_EQ(Manager().Count(PlaceKind::kCPU), 1);
  EXPECT_EQ(Manager().Places().front(), PlaceKey(CPUPlace{}));
  EXPECT_EQ(Manager().Get(CPUPlace{}).place(), PlaceKey(CPUPlace{}));
}

TEST(DeviceManagerTest, ACudaDeviceThatIsNotThereIsRefused) {
  const auto refusal = sluice::testing::RefusalOfMissingDevice();
  ExpectError(refusal.code, refusal.check_id, {"cuda:40", "cpu"},
              [] { Manager().Get(sluice::testing::kMissingDevice); });
}

TEST(DeviceManagerTest, AKindWithoutAPlugInIsNotFound) {
  const PlaceKind kind = InternPlaceKind("nobodys");
  EXPECT_EQ(Manager().Count(kind), 0);
  ExpectError(ErrorCode::kNotFound, "device.unknown_kind",
              {"nobodys:0", "'nobodys'", "plug-in", "libsluice_nobodys.so",
               "SLUICE_PLUGIN_PATH", "cpu"},
              [&] { Manager().Get(PlaceKey(kind, 0)); });
}

TEST(DeviceManagerTest, AnAddedKindHasItsDevicesAndNoMore) {
  const PlaceKind kind = InternPlaceKind("pair");
  Manager().AddKind(kind, 2, FakeFactory(kind));
  EXPECT_EQ(Manager().Count(kind), 2);
  const auto places = Manager().Places();
  for (int i : {0, 1}) {
    EXPECT_EQ(std::count(places.begin(), places.end(), PlaceKey(kind, i)), 1);
  }
  Device& device = Manager().Get(PlaceKey(kind, 1));
  EXPECT_EQ(device.place(), PlaceKey(kind, 1));
  EXPECT_EQ(&Manager().Get(PlaceKey(kind, 1)), &device);
  EXPECT_NE(&Manager().Get(PlaceKey(kind, 0)), &device);
  ExpectError(ErrorCode::kNotFound, "device.index",
              {"pair:2", "below 2", "pair:0, pair:1"},
              [&] { Manager().Get(PlaceKey(kind, 2)); });
}

TEST(DeviceManagerTest, AKindCannotBeAddedTwice) {
  ExpectError(ErrorCode::kInvalidArgument, "device.kind_twice", {"'cpu'"}, [] {
    Manager().AddKind(PlaceKind::kCPU, 1, FakeFactory(PlaceKind::kCPU));
  });
  EXPECT_EQ(Manager().Count(PlaceKind::kCPU), 1);
}

TEST(DeviceManagerTest, ABadCountIsRefusedAndAddsNothing) {
  const PlaceKind kind = InternPlaceKind("uncountable");
  for (int count : {-1, 65535}) {
    ExpectError(ErrorCode::kInvalidArgument, "device.kind_count",
                {"uncountable", std::to_string(count)},
                [&] { Manager().AddKind(kind, count, FakeFactory(kind)); });
  }
  Manager().AddKind(kind, 0, FakeFactory(kind));
}

TEST(DeviceManagerTest, AKindWithoutAFactoryIsRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "device.kind_factory", {"idle"},
              [] { Manager().AddKind(InternPlaceKind("idle"), 1, nullptr); });
}

TEST(DeviceManagerTest, ADeviceThatRefusesMayBeAskedAgain) {
  const PlaceKind kind = InternPlaceKind("shy");
  int asked = 0;
  Manager().AddKind(kind, 1, [&asked, kind](int index) {
    SLUICE_ENFORCE(++asked > 1, ErrorCode::kDeviceLost, "device_test.shy",
                   "not yet");
    return FakeFactory(kind)(index);
  });
  ExpectError(ErrorCode::kDeviceLost, "device_test.shy", {"not yet"},
              [&] { Manager().Get(PlaceKey(kind, 0)); });
  EXPECT_EQ(Manager().Get(PlaceKey(kind, 0)).place(), PlaceKey(kind, 0));
}

TEST(DeviceManagerTest, AFactoryThatReturnsNothingIsNamed) {
  const PlaceKind kind = InternPlaceKind("empty");
  Manager().AddKind(kind, 1, [](int) { return nullptr; });
  ExpectError(ErrorCode::kInternal, "device.factory", {"empty:0"},
              [&] { Manager().Get(PlaceKey(kind, 0)); });
}

TEST(DeviceManagerTest, ALoaderIsAskedOnceForAnUnknownKind) {
  const PlaceKind kind = InternPlaceKind("lazy");
  std::vector<PlaceKind> asked;
  const ScopedLoader loader([&](PlaceKind wanted) {
    asked.push_back(wanted);
    if (wanted == kind) Manager().AddKind(kind, 1, FakeFactory(kind));
  });
  Manager().Get(CPUPlace{});
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(Manager().Get(PlaceKey(kind, 0)).place(), PlaceKey(kind, 0));
  Manager().Get(PlaceKey(kind, 0));
  EXPECT_EQ(asked, std::vector<PlaceKind>{kind});
  const PlaceKind other = InternPlaceKind("lazier");
  EXPECT_THROW(Manager().Get(PlaceKey(other, 0)), Error);
  EXPECT_THROW(Manager().Get(PlaceKey(other, 0)), Error);
  EXPECT_EQ(asked, (std::vector<PlaceKind>{kind, other}));
}

TEST(DeviceManagerTest, CountingMayLoadAKind) {
  const PlaceKind kind = InternPlaceKind("late");
  const ScopedLoader loader([&](PlaceKind wanted) {
    if (wanted == kind) Manager().AddKind(kind, 3, FakeFactory(kind));
  });
  EXPECT_EQ(Manager().Count(kind), 0);
  EXPECT_EQ(Manager().LoadAndCount(kind), 3);
  EXPECT_EQ(Manager().Count(kind), 3);
  EXPECT_EQ(Manager().LoadAndCount(InternPlaceKind("later")), 0);
}

TEST(DeviceManagerTest, ALoadersErrorIsTheAnswerEachTime) {
  const PlaceKind kind = InternPlaceKind("broken");
  const ScopedLoader loader([](PlaceKind) {
    Raise(ErrorCode::kDataLoss, "device_test.broken", "truncated");
  });
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kDataLoss, "device_test.broken", {"truncated"},
                [&] { Manager().Get(PlaceKey(kind, 0)); });
  }
}

TEST(DeviceManagerTest, ALoaderMayAskForItsOwnKind) {
  const PlaceKind kind = InternPlaceKind("recursive");
  const ScopedLoader loader([&](PlaceKind) {
    EXPECT_THROW(Manager().Get(PlaceKey(kind, 0)), Error);
  });
  EXPECT_THROW(Manager().Get(PlaceKey(kind, 0)), Error);
}

TEST(DeviceManagerTest, ThreadsThatAskTogetherGetOneDevice) {
  const PlaceKind kind = InternPlaceKind("contended");
  std::atomic<int> made = 0;
  const ScopedLoader loader([&](PlaceKind wanted) {
    if (wanted != kind) return;
    Manager().AddKind(kind, 1, [&, kind](int index) {
      ++made;
      return FakeFactory(kind)(index);
    });
  });
  std::vector<std::thread> threads;
  std::vector<Device*> devices(8);
  for (Device*& device : devices) {
    threads.emplace_back([&] { device = &Manager().Get(PlaceKey(kind, 0)); });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  for (Device* device : devices)
    EXPECT_EQ(device, devices[0]);
}

TEST(CPUDeviceTest, MemoryIsAlignedAndTheHostsOwn) {
  Device& cpu = Manager().Get(CPUPlace{});
  EXPECT_TRUE(cpu.host_accessible());
  for (size_t bytes : {size_t{1}, size_t{63}, size_t{65}, size_t{1} << 20}) {
    void* pointer = cpu.Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0u);
    cpu.Free(pointer, bytes);
  }
  EXPECT_EQ(cpu.Allocate(SIZE_MAX), nullptr);
}

TEST(CPUDeviceTest, TheLimitLeavesHeadroom) {
  const size_t limit = Manager().Get(CPUPlace{}).MemoryLimit();
  const auto total = static_cast<size_t>(HostMemoryBytes());
  EXPECT_LT(limit, total);
  EXPECT_GT(limit, total / 2);
}

}  // namespace
}  // namespace sluice
