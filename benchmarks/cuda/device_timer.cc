#include "benchmarks/cuda/device_timer.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include "sluice/platform/cuda/cuda_check.h"
#include "sluice/platform/device.h"

namespace sluice::bench {

using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kLeast = 3;
constexpr size_t kMost = 50;
// The number of memsets during which 500 launches can be enqueued.
constexpr int kCovers = 200;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

DeviceTimer::DeviceTimer(CUDAPlace place, double seconds)
    : context_(place),
      seconds_(seconds),
      emulated_(DeviceManager::Instance().Get(place).is_emulated()) {
  cudaDeviceProp properties;
  CheckCUDA(cudaGetDeviceProperties(&properties, place.device),
            "asking for the device's properties");
  multiprocessors_ = properties.multiProcessorCount;
  flushed_.Resize({2 * int64_t{properties.l2CacheSize}});
  flushed_.mutable_data(DType::kUInt8, place);
  CheckCUDA(cudaEventCreate(&begin_), "making an event");
  CheckCUDA(cudaEventCreate(&end_), "making an event");
}

DeviceTimer::~DeviceTimer() {
  static_cast<void>(cudaEventDestroy(begin_));
  static_cast<void>(cudaEventDestroy(end_));
}

void DeviceTimer::FlushL2() {
  CheckCUDA(cudaMemsetAsync(flushed_.raw_data(), 0, flushed_.bytes(),
                            context_.stream()),
            "flushing the cache");
}

double DeviceTimer::Between(int covers, FunctionRef<void()> enqueue) {
  for (int i = 0; i < covers; ++i) {
    FlushL2();
  }
  CheckCUDA(cudaEventRecord(begin_, context_.stream()), "recording an event");
  enqueue();
  CheckCUDA(cudaEventRecord(end_, context_.stream()), "recording an event");
  context_.Wait();
  float milliseconds = 0;
  CheckCUDA(cudaEventElapsedTime(&milliseconds, begin_, end_),
            "reading the time of an event");
  // Events have a resolution of half a microsecond.
  return std::max(1e-3 * milliseconds, 1e-7);
}

double DeviceTimer::MedianOf(FunctionRef<double()> measure) const {
  if (!emulated_) {
    measure();
    measure();
  }
  const auto begin = Clock::now();
  std::vector<double> values;
  while (
      values.size() < (emulated_ ? 2 : kLeast) ||
      (!emulated_ && values.size() < kMost && SecondsSince(begin) < seconds_)) {
    values.push_back(measure());
  }
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double DeviceTimer::Median(FunctionRef<void()> enqueue,
                           FunctionRef<void()> done) {
  return MedianOf([&] {
    const double seconds = Between(1, enqueue);
    done();
    return seconds;
  });
}

double DeviceTimer::HostMedian(FunctionRef<void()> call) {
  return MedianOf([&] {
    FlushL2();
    context_.Wait();
    const auto begin = Clock::now();
    call();
    return std::max(SecondsSince(begin), 1e-9);
  });
}

double DeviceTimer::Ahead(FunctionRef<void()> enqueue) {
  return MedianOf([&] { return Between(emulated_ ? 1 : kCovers, enqueue); });
}

void DeviceTimer::StartProfiler() {
  CheckCUDA(cudaProfilerStart(), "starting the profiler");
}

void DeviceTimer::StopProfiler() {
  CheckCUDA(cudaProfilerStop(), "stopping the profiler");
}

}  // namespace sluice::bench
