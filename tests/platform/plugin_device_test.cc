#include "sluice/platform/plugin/plugin_device.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/platform/plugin_cases.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class PluginDeviceTest : public ::testing::Test {
 protected:
  PluginDevice& Open(const std::string& mistake) {
    const DevicePlugin& plugin = LoadBadPlugin(mistake);
    return static_cast<PluginDevice&>(
        DeviceManager::Instance().Get(PlaceKey(plugin.kind, 0)));
  }

  std::unique_ptr<PluginDeviceContext> Context(PluginDevice& device) {
    return std::make_unique<PluginDeviceContext>(device);
  }
};

// Device memory with the lifetime of a scope.
class Block {
 public:
  Block(Device& device, size_t bytes)
      : device_(device), bytes_(bytes), data_(device.Allocate(bytes)) {}
  ~Block() { device_.Free(data_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  Device& device_;
  size_t bytes_;
  void* data_;
};

TEST_F(PluginDeviceTest, CopiesThereWithinAndBack) {
  PluginDevice& device = Open("copies");
  Block first(device, 3000), second(device, 3000);
  auto context = Context(device);
  std::vector<char> sent(2777, 'a'), got(2777, 'b');
  sent[2776] = 'z';
  context->CopyFromHost(first.data() + 3, sent.data(), sent.size());
  context->CopyOnDevice(second.data() + 1, first.data() + 3, sent.size());
  context->CopyToHost(got.data(), second.data() + 1, got.size());
  context->Wait();
  EXPECT_EQ(got, sent);
}

TEST_F(PluginDeviceTest, NeverAsksForNothing) {
  PluginDevice& device = Open("fails_in_copy");
  EXPECT_EQ(device.Allocate(0), nullptr);
  device.Free(nullptr, 0);
  auto context = Context(device);
  context->CopyFromHost(nullptr, nullptr, 0);
  context->CopyToHost(nullptr, nullptr, 0);
  context->CopyOnDevice(nullptr, nullptr, 0);
}

TEST_F(PluginDeviceTest, SaysThatThereIsNoMemory) {
  EXPECT_EQ(Open("small_memory").Allocate(size_t{1} << 40), nullptr);
}

TEST_F(PluginDeviceTest, RefusesMisalignedMemory) {
  PluginDevice& device = Open("misaligned");
  ExpectError(ErrorCode::kInternal, "plugin.alignment",
              {"misaligned:0", "expected one that 64 divides"},
              [&] { device.Allocate(100); });
}

TEST_F(PluginDeviceTest, TurnsThrowsIntoErrors) {
  PluginDevice& allocating = Open("throws_in_allocate");
  ExpectError(ErrorCode::kInternal, "plugin.threw",
              {"throws_in_allocate:0", "allocate", "not a std::exception"},
              [&] { allocating.Allocate(8); });
  PluginDevice& waiting = Open("throws_in_synchronise");
  auto context = Context(waiting);
  ExpectError(ErrorCode::kInternal, "plugin.threw",
              {"synchronise", "bad_alloc"}, [&] { context->Wait(); });
}

TEST_F(PluginDeviceTest, PassesOnWhatThePluginSays) {
  PluginDevice& device = Open("fails_in_copy");
  Block block(device, 8);
  auto context = Context(device);
  ExpectError(ErrorCode::kDataLoss, "plugin.callback_failed",
              {"fails_in_copy:0", "copy_to_device", "bit 7 fell over"},
              [&] { context->CopyFromHost(block.data(), "x", 1); });
}

TEST_F(PluginDeviceTest, SaysThatThereIsNoReason) {
  PluginDevice& device = Open("fails_without_reason");
  Block block(device, 8);
  auto context = Context(device);
  char byte = 0;
  ExpectError(ErrorCode::kDeviceLost, "plugin.callback_failed",
              {"status 8 without a reason"},
              [&] { context->CopyToHost(&byte, block.data(), 1); });
}

TEST_F(PluginDeviceTest, NamesTheOpWhoseQueuedWorkFailed) {
  auto context = Context(Open("fails_late"));
  EXPECT_EQ(context->FailedOp(), -1);
  ExpectError(ErrorCode::kInternal, "plugin.callback_failed",
              {"the fuse is blown", "op 3"}, [&] { context->Wait(); });
  EXPECT_EQ(context->FailedOp(), 3);
}

TEST_F(PluginDeviceTest, LogsAFailingFree) {
  PluginDevice& device = Open("fails_in_deallocate");
  std::string logged;
  SetLogSink([&](LogLevel, std::string_view line) { logged = line; });
  device.Free(device.Allocate(8), 8);
  SetLogSink(nullptr);
  EXPECT_NE(logged.find("never heard of it"), std::string::npos) << logged;
}

TEST_F(PluginDeviceTest, WrapsEachKernelCall) {
  PluginDevice& device = Open("wraps");
  auto context = Context(device);
  uint64_t inside = 0;
  context->Compute([&] { inside = device.Counters().kernels; });
  EXPECT_EQ(inside, uint64_t{1} << 32);
  EXPECT_EQ(device.Counters().kernels, 1u);
}

TEST_F(PluginDeviceTest, TidiesUpAfterAKernelThatFails) {
  PluginDevice& device = Open("wraps");
  auto context = Context(device);
  const uint64_t before = device.Counters().kernels;
  EXPECT_THROW(context->Compute([] { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(device.Counters().kernels, before + 1);
}

TEST_F(PluginDeviceTest, RefusesWhatThePluginDoesNotOffer) {
  PluginDevice& device = Open("plain");
  ExpectError(ErrorCode::kUnimplemented, "plugin.no_counters", {"plain:0"},
              [&] { device.Counters(); });
  ExpectError(ErrorCode::kUnimplemented, "plugin.no_options",
              {"plain:0", "'speed'"}, [&] { device.SetOption("speed", "9"); });
  ExpectError(ErrorCode::kNotFound, "plugin.callback_failed",
              {"no option speed"},
              [&] { Open("wraps").SetOption("speed", "9"); });
}

}  // namespace
}  // namespace sluice
