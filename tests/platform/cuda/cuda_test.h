#pragma once

#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "sluice/memory/memory.h"
#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::testing {

// A context of the emulated device. Afterwards the device is as it was, also
// when the test lost it.
class CUDATest : public ::testing::Test {
 protected:
  CUDATest() : options_(cuda_emulation::GetOptions()), context_(kPlace) {}
  ~CUDATest() override {
    cuda_emulation::ClearFault();
    cuda_emulation::GetOptions() = options_;
  }

  static constexpr platform::CUDAPlace kPlace{0};

  // Runs `body` in each order that threads and blocks can have.
  template <typename Body>
  void InEveryOrder(const Body& body) {
    using cuda_emulation::ThreadOrder;
    for (const auto order : {ThreadOrder::kForward, ThreadOrder::kReverse,
                             ThreadOrder::kShuffle}) {
      cuda_emulation::GetOptions().order = order;
      body();
      cuda_emulation::ClearFault();
    }
  }

  const cuda_emulation::Options options_;
  platform::CUDADeviceContext context_;
};

// Numbers on the device.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(platform::CUDADeviceContext& context,
              const std::vector<T>& values)
      : context_(context),
        size_(values.size()),
        memory_(memory::AllocUnique(context.GetPlace(), size_ * sizeof(T))) {
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
  platform::CUDADeviceContext& context_;
  size_t size_;
  memory::UniqueMemory memory_;
};

}  // namespace sluice::testing
