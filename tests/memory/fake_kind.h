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
  explicit FakeKind(std::string_view name) : kind_(InternPlaceKind(name)) {
    DeviceManager::Instance().AddKind(kind_, 2, [this](int index) {
      return std::make_unique<FakeDevice>(place(index), &states_[index]);
    });
  }

  PlaceKey place(int index) const { return PlaceKey(kind_, index); }
  FakeDeviceState& state(int index) { return states_[index]; }

 private:
  PlaceKind kind_;
  FakeDeviceState states_[2];
};

}  // namespace sluice::testing
