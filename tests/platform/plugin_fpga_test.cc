#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/fpga_device_context.h"
#include "sluice/platform/place.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class FPGATest : public ::testing::Test {
 protected:
  FPGATest()
      : device_(static_cast<PluginDevice&>(
            DeviceManager::Instance().Get(FPGAPlace{0}))),
        context_(device_) {
    block_ = static_cast<char*>(device_.Allocate(kBytes));
  }
  ~FPGATest() override {
    device_.SetOption("fail_kernel", "0");
    device_.SetOption("fail_copy", "0");
    device_.Free(block_, kBytes);
  }

  // The status of enqueueing manhattan_distance as op 5: of the 2 x 3 floats at
  // the block's start to the 1 x 3 after them.
  SluiceStatus EnqueueKernel() {
    const SluiceKernelDef& kernel = *device_.table().kernels[0];
    const int64_t x_dims[] = {2, 3}, y_dims[] = {1, 3}, out_dims[] = {2, 1};
    const SluiceTensorView x = View("X", block_, x_dims);
    const SluiceTensorView y = View("Y", block_ + 24, y_dims);
    const SluiceTensorView out = View("Out", block_ + 64, out_dims);
    const SluiceTensorView* inputs[] = {&x, &y};
    const SluiceTensorView* outputs[] = {&out};
    SluiceKernelCall call{};
    call.struct_size = sizeof(call);
    call.op_index = 5;
    call.queue = context_.queue();
    call.input_count = 2;
    call.inputs = inputs;
    call.output_count = 1;
    call.outputs = outputs;
    return kernel.compute(&call);
  }

  static SluiceTensorView View(const char* name,
                               char* data,
                               const int64_t* dims) {
    const size_t bytes = static_cast<size_t>(dims[0] * dims[1]) * sizeof(float);
    return {sizeof(SluiceTensorView), name,  data, dims, 2,
            SLUICE_FLOAT32,           bytes, 0};
  }

  static constexpr size_t kBytes = 4096;
  PluginDevice& device_;
  FPGADeviceContext context_;
  char* block_ = nullptr;
};

// Returns whether `access` ends the process by a memory fault.
template <typename Access>
bool Faults(Access access) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // not the sanitizer's report
    access();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST_F(FPGATest, IsAPluginFoundOnFirstUse) {
  EXPECT_EQ(DeviceManager::Instance().Count(PlaceKind::kFPGA), 2);
  EXPECT_EQ(ToString(device_.place()), "fpga:0");
  EXPECT_FALSE(device_.host_accessible());
  EXPECT_EQ(device_.MemoryLimit(), size_t{256} << 20);
  const auto context =
      DeviceManager::Instance().Get(FPGAPlace{1}).CreateContext();
  EXPECT_NE(dynamic_cast<FPGADeviceContext*>(context.get()), nullptr);
  EXPECT_EQ(PlaceKey(context->GetPlace()), PlaceKey(FPGAPlace{1}));
}

TEST_F(FPGATest, FaultsOnEveryHostAccess) {
  for (size_t offset : {size_t{0}, size_t{1000}, kBytes - 1}) {
    EXPECT_TRUE(Faults([&] {
      volatile char* address = block_ + offset;
      static_cast<void>(*address);
    }));
    EXPECT_TRUE(Faults([&] {
      volatile char* address = block_ + offset;
      *address = 1;
    }));
  }
}

TEST_F(FPGATest, ShowsPoisonBeforeEveryWait) {
  const std::vector<float> sent(100, 1.5f);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> got(100, 0.0f);
    context_.CopyFromHost(block_, sent.data(), 400);
    context_.CopyToHost(got.data(), block_, 400);
    for (float value : got)
      ASSERT_TRUE(std::isnan(value));
    double as_double = 0;
    std::memcpy(&as_double, got.data(), sizeof(as_double));
    ASSERT_TRUE(std::isnan(as_double));
    context_.Wait();
    ASSERT_EQ(got, sent);
  }
}

TEST_F(FPGATest, NoticesASourceThatChangedBeforeTheWait) {
  std::vector<char> sent(333, 'x');
  context_.SetOpIndex(7);
  context_.CopyFromHost(block_, sent.data(), sent.size());
  sent[332] = 'y';
  ExpectError(ErrorCode::kFailedPrecondition, "plugin.callback_failed",
              {"the host changed the 333 bytes", "op 7"},
              [&] { context_.Wait(); });
}

TEST_F(FPGATest, NoticesMemoryThatWasFreedBeforeTheWait) {
  void* block = device_.Allocate(64);
  const char byte = 1;
  context_.CopyFromHost(block, &byte, 1);
  device_.Free(block, 64);
  ExpectError(ErrorCode::kInvalidArgument, "plugin.callback_failed",
              {"freed before the queue was waited for"},
              [&] { context_.Wait(); });
}

TEST_F(FPGATest, TakesHostMemoryThatItsOwnQueueFills) {
  const std::vector<char> sent(50, 'q');
  std::vector<char> middle(50), got(50);
  context_.CopyFromHost(block_, sent.data(), 50);
  context_.CopyToHost(middle.data(), block_, 50);
  context_.CopyFromHost(block_ + 64, middle.data(), 50);
  context_.CopyToHost(got.data(), block_ + 64, 50);
  context_.Wait();
  EXPECT_EQ(got, sent);
}

TEST_F(FPGATest, ComputesWhenWaitedFor) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 1, 0, -1};
  std::vector<float> got(2);
  const uint64_t before = device_.Counters().kernels;
  context_.CopyFromHost(block_, values.data(), 36);
  ASSERT_EQ(EnqueueKernel(), SLUICE_OK);
  context_.CopyToHost(got.data(), block_ + 64, 8);
  EXPECT_EQ(device_.Counters().kernels, before);
  context_.Wait();
  EXPECT_EQ(device_.Counters().kernels, before + 1);
  EXPECT_EQ(got, (std::vector<float>{6, 15}));
}

TEST_F(FPGATest, ReportsAFailingKernelOnceAndDropsTheRest) {
  std::vector<float> got(2);
  device_.SetOption("fail_kernel", "1");
  ASSERT_EQ(EnqueueKernel(), SLUICE_OK);
  context_.CopyToHost(got.data(), block_, 8);
  ExpectError(ErrorCode::kInternal, "plugin.callback_failed",
              {"manhattan_distance/systolic", "asked for", "op 5"},
              [&] { context_.Wait(); });
  EXPECT_EQ(context_.FailedOp(), 5);
  EXPECT_TRUE(std::isnan(got[0]));
  context_.Wait();
  EXPECT_EQ(context_.FailedOp(), -1);
}

TEST_F(FPGATest, CountsTransfers) {
  const SluiceDeviceCounters before = device_.Counters();
  std::vector<char> host(77);
  context_.CopyFromHost(block_, host.data(), 77);
  context_.CopyOnDevice(block_ + 128, block_, 77);
  context_.CopyToHost(host.data(), block_ + 128, 33);
  context_.CopyToHost(host.data() + 33, block_, 2);
  context_.Wait();
  const SluiceDeviceCounters after = device_.Counters();
  EXPECT_EQ(after.copies_to_device - before.copies_to_device, 1u);
  EXPECT_EQ(after.bytes_to_device - before.bytes_to_device, 77u);
  EXPECT_EQ(after.copies_from_device - before.copies_from_device, 2u);
  EXPECT_EQ(after.bytes_from_device - before.bytes_from_device, 35u);
}

TEST_F(FPGATest, HasNoMemoryPastItsLimit) {
  device_.SetOption("memory_limit", "8192");
  void* last = device_.Allocate(4096);
  EXPECT_NE(last, nullptr);
  EXPECT_EQ(device_.Allocate(1), nullptr);
  device_.Free(last, 4096);
  device_.SetOption("memory_limit", std::to_string(size_t{256} << 20));
  EXPECT_EQ(device_.Allocate(std::numeric_limits<size_t>::max()), nullptr);
  EXPECT_EQ(device_.Allocate(size_t{257} << 20), nullptr);
}

TEST_F(FPGATest, FreshMemoryIsPoison) {
  std::vector<float> got(kBytes / 4);
  context_.CopyToHost(got.data(), block_, kBytes);
  context_.Wait();
  for (float value : got)
    ASSERT_TRUE(std::isnan(value));
}

TEST_F(FPGATest, EventsOrderWorkAcrossQueues) {
  FPGADeviceContext other(device_);
  const SluiceDevicePlugin& table = device_.table();
  SluiceEvent event = nullptr;
  ASSERT_EQ(table.create_event(0, &event, nullptr), SLUICE_OK);
  const std::vector<char> sent(10, 'e');
  std::vector<char> got(10);
  context_.CopyFromHost(block_, sent.data(), 10);
  ASSERT_EQ(table.record_event(0, event, context_.queue(), nullptr), SLUICE_OK);
  ASSERT_EQ(table.wait_event(0, other.queue(), event, nullptr), SLUICE_OK);
  other.CopyToHost(got.data(), block_, 10);
  other.Wait();
  EXPECT_EQ(got, sent);
  table.destroy_event(0, event);
}

TEST_F(FPGATest, QueuesWithoutEventsAreIndependent) {
  FPGADeviceContext other(device_);
  const std::vector<float> sent(10, 2.0f);
  std::vector<float> got(10);
  context_.CopyFromHost(block_, sent.data(), 40);
  other.CopyToHost(got.data(), block_, 40);
  other.Wait();
  EXPECT_TRUE(std::isnan(got[0]));  // no wait for the first queue
  context_.Wait();
}

}  // namespace
}  // namespace sluice
