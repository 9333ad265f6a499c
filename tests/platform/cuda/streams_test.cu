// Streams, events and copies of the emulated runtime.
#include <chrono>
#include <thread>

#include "tests/platform/cuda/cuda_test.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice::platform {
namespace {

using cuda_emulation::StreamMode;
using ::sluice::testing::DeviceArray;
class CUDAStreams : public ::sluice::testing::CUDATest {
 protected:
  static void OK(cudaError_t error) { CheckCUDA(error, "a test"); }

  cudaEvent_t Record(cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, stream));
    return event;
  }
};

void AppendTo(void* text) {
  *static_cast<std::string*>(text) += "x";
}

TEST_F(CUDAStreams, NothingRunsBeforeSomebodyWaits) {
  std::string text;
  OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  EXPECT_EQ(text, "");
  context_.Wait();
  EXPECT_EQ(text, "xx");
}

TEST_F(CUDAStreams, EagerStreamsRunAtOnce) {
  cuda_emulation::GetOptions().streams = StreamMode::kEager;
  std::string text;
  OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  EXPECT_EQ(text, "x");
}

TEST_F(CUDAStreams, AnEventIsReachedWithoutWhatCameAfter) {
  std::string text;
  OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  const cudaEvent_t event = Record(context_.stream());
  OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  OK(cudaEventSynchronize(event));
  EXPECT_EQ(text, "x");
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  OK(cudaEventDestroy(event));
}

void Sleep(void* milliseconds) {
  std::this_thread::sleep_for(
      std::chrono::milliseconds(*static_cast<int*>(milliseconds)));
}

TEST_F(CUDAStreams, EventsTellTheTimeBetweenThem) {
  cudaEvent_t events[] = {nullptr, nullptr};
  for (cudaEvent_t& event : events)
    OK(cudaEventCreate(&event));
  float elapsed = -1;
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, events[0], events[1]),
            cudaErrorInvalidResourceHandle);  // nobody has recorded them
  int milliseconds = 20;
  OK(cudaEventRecord(events[0], context_.stream()));
  OK(cudaLaunchHostFunc(context_.stream(), &Sleep, &milliseconds));
  OK(cudaEventRecord(events[1], context_.stream()));
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, events[0], events[1]),
            cudaErrorNotReady);
  EXPECT_EQ(elapsed, -1);
  context_.Wait();
  OK(cudaEventElapsedTime(&elapsed, events[0], events[1]));
  EXPECT_GE(elapsed, 20);
  EXPECT_LT(elapsed, 2000);
  for (cudaEvent_t event : events)
    OK(cudaEventDestroy(event));
}

TEST_F(CUDAStreams, AnEventWithoutTimingHasNone) {
  const cudaEvent_t event = Record(context_.stream());
  context_.Wait();
  float elapsed = 0;
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, event, event),
            cudaErrorInvalidResourceHandle);
  OK(cudaEventDestroy(event));
}

TEST_F(CUDAStreams, PollingGetsThereInTheEnd) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  }
  int questions = 0;
  while (cudaStreamQuery(context_.stream()) == cudaErrorNotReady) {
    ASSERT_LT(++questions, 100);
  }
  EXPECT_EQ(text, "xxxxx");
}

TEST_F(CUDAStreams, AWaitOrdersAChainOfStreams) {
  const DeviceArray<int> numbers(context_, {0});
  int* number = numbers.get();
  CUDADeviceContext contexts[] = {CUDADeviceContext(kPlace),
                                  CUDADeviceContext(kPlace),
                                  CUDADeviceContext(kPlace)};
  cudaEvent_t before = Record(context_.stream());
  for (int i = 0; i < 30; ++i) {
    const CUDADeviceContext& context = contexts[i % 3];
    OK(cudaStreamWaitEvent(context.stream(), before, 0));
    ForEach(context, 1,
            [=] __device__(int64_t) { *number = *number * 2 % 1000 + i; });
    OK(cudaEventDestroy(before));
    before = Record(context.stream());
  }
  OK(cudaStreamWaitEvent(context_.stream(), before, 0));
  OK(cudaEventDestroy(before));
  int expected = 0;
  for (int i = 0; i < 30; ++i) {
    expected = expected * 2 % 1000 + i;
  }
  EXPECT_EQ(numbers.Fetch().front(), expected);
}

TEST_F(CUDAStreams, AnEventThatWasNeverRecordedIsNotWaitedFor) {
  cudaEvent_t event = nullptr;
  OK(cudaEventCreate(&event));
  OK(cudaStreamWaitEvent(context_.stream(), event, 0));
  OK(cudaEventSynchronize(event));
  OK(cudaEventQuery(event));
  OK(cudaEventDestroy(event));
  context_.Wait();
}

TEST_F(CUDAStreams, TheDefaultStreamWaitsForBlockingOnes) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  std::string text;
  OK(cudaLaunchHostFunc(stream, &AppendTo, &text));
  OK(cudaLaunchHostFunc(context_.stream(), &AppendTo, &text));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(text, "");  // nothing was enqueued on it
  OK(cudaLaunchHostFunc(nullptr, &AppendTo, &text));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(text, "xx");  // but the context's stream is none of them
  OK(cudaStreamDestroy(stream));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(text, "xxx");
}

TEST_F(CUDAStreams, PinnedMemoryIsReadWhenItsTurnComes) {
  int* pinned = nullptr;
  OK(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocDefault));
  *pinned = 1;
  const DeviceArray<int> number(context_, {0});
  OK(cudaMemcpyAsync(number.get(), pinned, sizeof(int), cudaMemcpyHostToDevice,
                     context_.stream()));
  *pinned = 2;
  EXPECT_EQ(number.Fetch().front(), 2);
  OK(cudaFreeHost(pinned));
}

TEST_F(CUDAStreams, CopiesMustNameTheirDirection) {
  const DeviceArray<int> number(context_, {0});
  int host = 0;
  EXPECT_EQ(cudaMemcpy(&host, number.get(), 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  OK(cudaMemcpy(&host, number.get(), 4, cudaMemcpyDefault));
}

TEST_F(CUDAStreams, ACopyPastTheEndIsAFault) {
  const DeviceArray<int> number(context_, {0});
  int host[2] = {};
  EXPECT_EQ(cudaMemcpy(host, number.get(), 8, cudaMemcpyDeviceToHost),
            cudaErrorIllegalAddress);
}

}  // namespace
}  // namespace sluice::platform
