#pragma once

#include <memory>

#include "sluice/platform/place.h"

struct CUstream_st;

namespace Eigen {
struct GpuDevice;
}  // namespace Eigen

namespace sluice {

// Eigen's view of one stream, owned by the stream's context and used by one
// thread at a time.
class EigenDevice {
 public:
  // `stream` must outlive it.
  EigenDevice(CUDAPlace place, CUstream_st* stream);
  ~EigenDevice();

  const Eigen::GpuDevice& get() const { return *device_; }

  // Must be called when all enqueued work is done; it frees the memory that
  // Eigen has returned since.
  void StreamIsDone();

 private:
  class Stream;

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Eigen::GpuDevice> device_;
};

}  // namespace sluice
