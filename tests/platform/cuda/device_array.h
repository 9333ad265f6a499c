#pragma once

#include <vector>

#include "sluice/memory/memory.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::testing {

// Numbers on the device.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(CUDADeviceContext& context, const std::vector<T>& values)
      : context_(context),
        size_(values.size()),
        memory_(AllocUnique(context.GetPlace(), size_ * sizeof(T))) {
    context_.CopyFromHost(memory_.get(), values.data(), size_ * sizeof(T));
  }

  T* get() const { return static_cast<T*>(memory_.get()); }

  // Waits for the context.
  std::vector<T> Fetch() const {
    std::vector<T> values(size_);
    context_.CopyToHost(values.data(), memory_.get(), size_ * sizeof(T));
    context_.Wait();
    return values;
  }

 private:
  CUDADeviceContext& context_;
  size_t size_;
  UniqueMemory memory_;
};

}  // namespace sluice::testing
