#pragma once

#include <memory>
#include <string_view>

#include "tests/testing/fake_device.h"

#include "sluice/platform/device.h"

namespace sluice::testing {

// A kind with two fake devices that the device manager knows, created once. Its
// memory is not host memory.
class FakeKind {
 public:
  explicit FakeKind(std::string_view name)
      : kind_(platform::InternPlaceKind(name)) {
    platform::DeviceManager::Instance().AddKind(kind_, 2, [this](int index) {
      return std::make_unique<FakeDevice>(place(index), &states_[index]);
    });
  }

  platform::PlaceKey place(int index) const {
    return platform::PlaceKey(kind_, index);
  }
  FakeDeviceState& state(int index) { return states_[index]; }

 private:
  platform::PlaceKind kind_;
  FakeDeviceState states_[2];
};

}  // namespace sluice::testing
