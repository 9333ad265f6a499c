// Streams, events and copies in the emulation: nothing runs before a wait, and
// mistakes in copies are detected.
#include "tests/platform/cuda/emulated_cuda_test.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using cuda_emulation::StreamMode;
using ::sluice::testing::DeviceArray;
class CUDAStreamsEmulated : public ::sluice::testing::EmulatedCUDATest {
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

TEST_F(CUDAStreamsEmulated, NothingRunsBeforeSomebodyWaits) {
  std::string text;
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  EXPECT_EQ(text, "");
  context().Wait();
  EXPECT_EQ(text, "xx");
}

TEST_F(CUDAStreamsEmulated, EagerStreamsRunAtOnce) {
  cuda_emulation::GetOptions().streams = StreamMode::kEager;
  std::string text;
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  EXPECT_EQ(text, "x");
}

TEST_F(CUDAStreamsEmulated, AnEventIsReachedWithoutWhatCameAfter) {
  std::string text;
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  const cudaEvent_t event = Record(context().stream());
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  OK(cudaEventSynchronize(event));
  EXPECT_EQ(text, "x");
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  OK(cudaEventDestroy(event));
}

TEST_F(CUDAStreamsEmulated, PollingGetsThereInTheEnd) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  }
  int questions = 0;
  while (cudaStreamQuery(context().stream()) == cudaErrorNotReady) {
    ASSERT_LT(++questions, 100);
  }
  EXPECT_EQ(text, "xxxxx");
}

TEST_F(CUDAStreamsEmulated, TheDefaultStreamWaitsForBlockingOnes) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  std::string text;
  OK(cudaLaunchHostFunc(stream, &AppendTo, &text));
  OK(cudaLaunchHostFunc(context().stream(), &AppendTo, &text));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(text, "");  // nothing was enqueued on it
  OK(cudaLaunchHostFunc(nullptr, &AppendTo, &text));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(text, "xx");  // the context's stream is none of them
  OK(cudaStreamDestroy(stream));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(text, "xxx");
}

TEST_F(CUDAStreamsEmulated, PinnedMemoryIsReadWhenItsTurnComes) {
  int* pinned = nullptr;
  OK(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocDefault));
  *pinned = 1;
  const DeviceArray<int> number(context(), {0});
  OK(cudaMemcpyAsync(number.get(), pinned, sizeof(int), cudaMemcpyHostToDevice,
                     context().stream()));
  *pinned = 2;
  EXPECT_EQ(number.Fetch().front(), 2);
  OK(cudaFreeHost(pinned));
}

TEST_F(CUDAStreamsEmulated, CopiesMustNameTheirDirection) {
  const DeviceArray<int> number(context(), {0});
  int host = 0;
  EXPECT_EQ(cudaMemcpy(&host, number.get(), 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  OK(cudaMemcpy(&host, number.get(), 4, cudaMemcpyDefault));
}

TEST_F(CUDAStreamsEmulated, ACopyPastTheEndIsAFault) {
  const DeviceArray<int> number(context(), {0});
  int host[2] = {};
  EXPECT_EQ(cudaMemcpy(host, number.get(), 8, cudaMemcpyDeviceToHost),
            cudaErrorIllegalAddress);
}

}  // namespace
}  // namespace sluice
