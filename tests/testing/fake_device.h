#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "sluice/platform/device.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/place.h"

namespace sluice::testing {

// The behaviour and counters of a fake device, owned by the test.
struct FakeDeviceState {
  bool host_accessible = false;
  size_t limit = size_t{1} << 30;
  int failing_allocations = 0;  // number of Allocate calls that fail
  bool failing_waits = false;

  int allocations = 0;
  int frees = 0;
  size_t freed_bytes = 0;
  int contexts = 0;
  int copies_from_host = 0;
  int copies_to_host = 0;
  int copies_on_device = 0;
  int waits = 0;
};

// Host memory that acts as device memory: it copies immediately.
class FakeContext final : public DeviceContext {
 public:
  FakeContext(PlaceKey place, FakeDeviceState* state)
      : place_(place), state_(state) {
    ++state_->contexts;
  }

  Place GetPlace() const override { return ToPlace(place_); }
  void CopyFromHost(void* device, const void* host, size_t bytes) override {
    ++state_->copies_from_host;
    std::memcpy(device, host, bytes);
  }
  void CopyToHost(void* host, const void* device, size_t bytes) override {
    ++state_->copies_to_host;
    std::memcpy(host, device, bytes);
  }
  void CopyOnDevice(void* to, const void* from, size_t bytes) override {
    ++state_->copies_on_device;
    std::memcpy(to, from, bytes);
  }
  void Wait() override {
    ++state_->waits;
    if (state_->failing_waits) throw std::runtime_error("the fake is lost");
  }

 private:
  PlaceKey place_;
  FakeDeviceState* state_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(PlaceKey place, FakeDeviceState* state)
      : place_(place), state_(state) {}

  PlaceKey place() const override { return place_; }
  void* Allocate(size_t bytes) override {
    if (state_->failing_allocations > 0) {
      --state_->failing_allocations;
      return nullptr;
    }
    ++state_->allocations;
    return std::aligned_alloc(64, bytes);
  }
  void Free(void* pointer, size_t bytes) override {
    ++state_->frees;
    state_->freed_bytes += bytes;
    std::free(pointer);
  }
  size_t MemoryLimit() const override { return state_->limit; }
  bool host_accessible() const override { return state_->host_accessible; }
  std::unique_ptr<DeviceContext> CreateContext() override {
    return std::make_unique<FakeContext>(place_, state_);
  }

 private:
  PlaceKey place_;
  FakeDeviceState* state_;
};

}  // namespace sluice::testing
