// Streams and events: CUDA's guarantees about their order.
#include <chrono>
#include <string>
#include <thread>

#include "tests/platform/cuda/cuda_test.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using ::sluice::testing::DeviceArray;

void OK(cudaError_t error) {
  CheckCUDA(error, "a test");
}

cudaEvent_t Record(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  OK(cudaEventRecord(event, stream));
  return event;
}

void AppendTo(void* text) {
  *static_cast<std::string*>(text) += "x";
}

// Keeps a stream busy until `open` is set, at most for some seconds.
__global__ void HoldUntil(const volatile int* open) {
  for (int i = 0; i < 5'000'000 && *open == 0; ++i) {
  }
}

class Gate {
 public:
  Gate() {
    OK(cudaHostAlloc(&open_, sizeof(int), cudaHostAllocDefault));
    *open_ = 0;
  }
  ~Gate() { static_cast<void>(cudaFreeHost(open_)); }
  void HoldBack(CUDADeviceContext& context) {
    Launch<HoldUntil>({context, dim3(1), dim3(1)}, open_);
  }
  void Open() { *static_cast<volatile int*>(open_) = 1; }

 private:
  int* open_ = nullptr;
};

class CUDAStreams : public ::sluice::testing::CUDATest {
 protected:
  // CUDA may load a kernel's code at its first launch, which waits for running
  // work and would deadlock while the gate is closed.
  void SetUp() override {
    CUDATest::SetUp();
    if (IsSkipped()) return;
    Gate gate;
    gate.Open();
    gate.HoldBack(context());
    context().Wait();
  }
};

TEST_F(CUDAStreams, AnEventIsReachedWithoutWhatCameAfter) {
  Gate gate;
  std::string text;
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  const cudaEvent_t event = Record(context().stream());
  gate.HoldBack(context());
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  OK(cudaEventSynchronize(event));
  EXPECT_EQ(text, "x");
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  gate.Open();
  context().Wait();
  EXPECT_EQ(text, "xx");
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
            cudaErrorInvalidResourceHandle);  // they were never recorded
  int milliseconds = 20;
  OK(cudaEventRecord(events[0], context().stream()));
  OK(cudaLaunchHostFunc(context().stream(), &Sleep, &milliseconds));
  OK(cudaEventRecord(events[1], context().stream()));
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, events[0], events[1]),
            cudaErrorNotReady);
  EXPECT_EQ(elapsed, -1);
  context().Wait();
  OK(cudaEventElapsedTime(&elapsed, events[0], events[1]));
  EXPECT_GE(elapsed, 20);
  EXPECT_LT(elapsed, 2000);
  for (cudaEvent_t event : events)
    OK(cudaEventDestroy(event));
}

TEST_F(CUDAStreams, AnEventWithoutTimingHasNone) {
  const cudaEvent_t event = Record(context().stream());
  context().Wait();
  float elapsed = 0;
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, event, event),
            cudaErrorInvalidResourceHandle);
  cudaGetLastError();  // CUDA keeps it
  OK(cudaEventDestroy(event));
}

TEST_F(CUDAStreams, PollingGetsThereInTheEnd) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  cudaError_t state = cudaErrorNotReady;
  while (state == cudaErrorNotReady) {
    state = cudaStreamQuery(context().stream());
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
  EXPECT_EQ(state, cudaSuccess);
  EXPECT_EQ(text, "xxxxx");
  // "Not ready" is not an error, but CUDA may store it as the last one.
  const cudaError_t kept = cudaGetLastError();
  EXPECT_TRUE(kept == cudaSuccess || kept == cudaErrorNotReady);
}

// nvcc requires device lambdas outside of private functions, like tests.
void DoubleAndAdd(const CUDADeviceContext& context, int* number, int more) {
  ForEach(context, 1,
          [=] __device__(int64_t) { *number = *number * 2 % 1000 + more; });
}

TEST_F(CUDAStreams, AWaitOrdersAChainOfStreams) {
  const DeviceArray<int> numbers(context(), {0});
  CUDADeviceContext contexts[] = {CUDADeviceContext(kPlace),
                                  CUDADeviceContext(kPlace),
                                  CUDADeviceContext(kPlace)};
  cudaEvent_t before = Record(context().stream());
  for (int i = 0; i < 30; ++i) {
    const CUDADeviceContext& context = contexts[i % 3];
    OK(cudaStreamWaitEvent(context.stream(), before, 0));
    DoubleAndAdd(context, numbers.get(), i);
    OK(cudaEventDestroy(before));
    before = Record(context.stream());
  }
  OK(cudaStreamWaitEvent(context().stream(), before, 0));
  OK(cudaEventDestroy(before));
  int expected = 0;
  for (int i = 0; i < 30; ++i) {
    expected = expected * 2 % 1000 + i;
  }
  EXPECT_EQ(numbers.Fetch().front(), expected);
}

// One context writes after a closed gate; another one waits and reads.
TEST_F(CUDAStreams, AContextWaitsForAnother) {
  CUDADeviceContext other(kPlace);
  const DeviceArray<int> from(context(), {7});
  const DeviceArray<int> to(context(), {0});
  context().Wait();
  // Pinning memory may wait for the device: the first copy does it.
  int number = 0;
  other.CopyToHost(&number, to.get(), sizeof(int));
  other.Wait();
  Gate gate;
  gate.HoldBack(context());
  context().CopyOnDevice(to.get(), from.get(), sizeof(int));
  other.WaitFor(context());
  other.CopyToHost(&number, to.get(), sizeof(int));
  gate.Open();
  other.Wait();
  EXPECT_EQ(number, 7);
}

TEST_F(CUDAStreams, AnEventThatWasNeverRecordedIsNotWaitedFor) {
  cudaEvent_t event = nullptr;
  OK(cudaEventCreate(&event));
  OK(cudaStreamWaitEvent(context().stream(), event, 0));
  OK(cudaEventSynchronize(event));
  OK(cudaEventQuery(event));
  OK(cudaEventDestroy(event));
  context().Wait();
}

TEST_F(CUDAStreams, TheDefaultStreamWaitsForBlockingOnesOnly) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  Gate gate;
  std::string text;
  OK(cudaLaunchHostFunc(stream, &AppendTo, &text));
  gate.HoldBack(context());
  const cudaEvent_t behind_gate = Record(context().stream());
  OK(cudaLaunchHostFunc(nullptr, &AppendTo, &text));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(text, "xx");
  // The context's stream is still blocked.
  EXPECT_EQ(cudaEventQuery(behind_gate), cudaErrorNotReady);
  gate.Open();
  OK(cudaEventSynchronize(behind_gate));
  OK(cudaEventDestroy(behind_gate));
  OK(cudaStreamDestroy(stream));
  OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace sluice
