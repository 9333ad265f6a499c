#include "sluice/platform/device_context_pool.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/expect_error.h"
#include "tests/testing/fake_device.h"
#include "tests/testing/missing_device.h"
#include <gtest/gtest.h>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::FakeDevice;
using sluice::testing::FakeDeviceState;

DeviceContextPool& Pool() {
  return DeviceContextPool::Instance();
}

// A device kind of this test.
class DeviceContextPoolTest : public ::testing::Test {
 protected:
  DeviceContextPoolTest() {
    static int number = 0;
    static std::vector<std::unique_ptr<FakeDeviceState>> states;
    states.push_back(std::make_unique<FakeDeviceState>());
    state_ = states.back().get();
    const auto kind = InternPlaceKind("pool_" + std::to_string(number++));
    place_ = PlaceKey(kind, 0);
    DeviceManager::Instance().AddKind(
        kind, 1, [place = place_, state = state_](int) {
          return std::make_unique<FakeDevice>(place, state);
        });
  }

  FakeDeviceState* state_;
  PlaceKey place_;
};

TEST_F(DeviceContextPoolTest, AContextIsMadeOnceAndWhenAskedFor) {
  EXPECT_EQ(state_->contexts, 0);
  DeviceContext& context = Pool().Get(place_);
  EXPECT_EQ(PlaceKey(context.GetPlace()), place_);
  EXPECT_EQ(&Pool().Get(place_), &context);
  EXPECT_EQ(state_->contexts, 1);
}

TEST_F(DeviceContextPoolTest, ThreadsShareOneContext) {
  std::vector<DeviceContext*> contexts(8);
  std::vector<std::thread> threads;
  for (auto*& context : contexts) {
    threads.emplace_back([&] { context = &Pool().Get(CPUPlace{}); });
  }
  for (auto& thread : threads)
    thread.join();
  for (auto* context : contexts)
    EXPECT_EQ(context, contexts[0]);
}

TEST_F(DeviceContextPoolTest, LeasesAreExclusiveAndReused) {
  DeviceContext* first = nullptr;
  {
    const auto a = Pool().Acquire(place_);
    const auto b = Pool().Acquire(place_);
    first = a.get();
    EXPECT_NE(a.get(), b.get());
    EXPECT_NE(a.get(), &Pool().Get(place_));
  }
  EXPECT_EQ(state_->contexts, 3);
  const auto a = Pool().Acquire(place_);
  const auto b = Pool().Acquire(place_);
  EXPECT_TRUE(a.get() == first || b.get() == first);
  EXPECT_EQ(state_->contexts, 3);
}

TEST_F(DeviceContextPoolTest, ALeaseIsWaitedForWhenItEnds) {
  Pool().Acquire(place_).reset();
  EXPECT_EQ(state_->waits, 1);
}

TEST_F(DeviceContextPoolTest, AContextThatCannotWaitIsNotReused) {
  {
    const auto lease = Pool().Acquire(place_);
    state_->failing_waits = true;
  }
  state_->failing_waits = false;
  const auto lease = Pool().Acquire(place_);
  EXPECT_EQ(state_->contexts, 2);
}

TEST_F(DeviceContextPoolTest, APlaceWithoutADeviceIsTheManagersError) {
  const auto refusal = sluice::testing::RefusalOfMissingDevice();
  const auto place = sluice::testing::kMissingDevice;
  sluice::testing::ExpectError(refusal.code, refusal.check_id, {"cuda:40"},
                               [&] { Pool().Get(place); });
  sluice::testing::ExpectError(refusal.code, refusal.check_id, {"cuda:40"},
                               [&] { Pool().Acquire(place); });
}

}  // namespace
}  // namespace sluice
