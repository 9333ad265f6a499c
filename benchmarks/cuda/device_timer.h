#pragma once

#include <memory>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/function_ref.h"

namespace sluice::bench {

// Measures time on the device. For use on one thread, with one context.
class DeviceTimer {
 public:
  // `seconds` is the time for one figure. On an emulated device, each figure is
  // from two calls.
  DeviceTimer(CUDAPlace place, double seconds);
  ~DeviceTimer();

  // The median time that the device needs for the work that `enqueue` puts on
  // the context's stream, in seconds: by events, after two warm-up calls, each
  // with an L2 cache of other data. Uses from 3 to 50 calls, as many as fit.
  // Calls `done` after waiting for each.
  double Median(FunctionRef<void()> enqueue, FunctionRef<void()> done);

  // The median by the host's clock, for calls that wait themselves.
  double HostMedian(FunctionRef<void()> call);

  // The device's seconds for one call, with the host so far ahead that the
  // device never waits for it. `enqueue` may launch at most 500 kernels: beyond
  // about 1,000 CUDA makes the host wait.
  double Ahead(FunctionRef<void()> enqueue);

  // Fills the L2 cache with other data.
  void FlushL2();

  CUDADeviceContext& context() { return context_; }
  bool emulated() const { return emulated_; }
  int multiprocessors() const { return multiprocessors_; }

  // The begin and end of profiling.
  static void StartProfiler();
  static void StopProfiler();

 private:
  double Between(int covers, FunctionRef<void()> enqueue);
  double MedianOf(FunctionRef<double()> measure) const;

  CUDADeviceContext context_;
  double seconds_;
  bool emulated_;
  int multiprocessors_ = 0;
  Tensor flushed_;
  CUevent_st* begin_ = nullptr;
  CUevent_st* end_ = nullptr;
};

}  // namespace sluice::bench
