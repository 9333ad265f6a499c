#pragma once

#include <memory>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/function_ref.h"

namespace sluice::bench {

// How the device's time is taken. For use on one thread, with one context.
class DeviceTimer {
 public:
  // `seconds` is what one figure may take. Where the device is emulated, each
  // figure is of two calls.
  DeviceTimer(platform::CUDAPlace place, double seconds);
  ~DeviceTimer();

  // The median of how long the device is busy with what `enqueue` puts on the
  // context's stream, in seconds: by events, after two calls that do not
  // count, each with an L2 cache of other data. From 3 to 50 calls, as many as
  // fit. `done` follows every call, once the stream was waited for.
  double Median(platform::FunctionRef<void()> enqueue,
                platform::FunctionRef<void()> done);

  // The same on the host's clock, for calls that wait themselves.
  double HostMedian(platform::FunctionRef<void()> call);

  // The device's seconds for one call, with the host so far ahead that it is
  // never waited for. `enqueue` may make 500 launches at most: past about
  // 1,000 CUDA makes the host wait.
  double Ahead(platform::FunctionRef<void()> enqueue);

  // Other data in the L2 cache.
  void FlushL2();

  platform::CUDADeviceContext& context() { return context_; }
  bool emulated() const { return emulated_; }
  int multiprocessors() const { return multiprocessors_; }

  // Where profilers begin and end to look.
  static void StartProfiler();
  static void StopProfiler();

 private:
  double Between(int covers, platform::FunctionRef<void()> enqueue);
  double MedianOf(platform::FunctionRef<double()> measure) const;

  platform::CUDADeviceContext context_;
  double seconds_;
  bool emulated_;
  int multiprocessors_ = 0;
  framework::Tensor flushed_;
  CUevent_st* begin_ = nullptr;
  CUevent_st* end_ = nullptr;
};

}  // namespace sluice::bench
