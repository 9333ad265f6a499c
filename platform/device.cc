#include "sluice/platform/device.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "sluice/platform/cpu/cpu_device.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice {

Device::~Device() = default;

std::string Device::Description() const {
  return ToString(place());
}

namespace {

constexpr int kMaxDevices = 0xFFFF;  // 65535 means "no such device"

// One device, made on first use; concurrent callers wait until it is made.
struct Slot {
  std::mutex mutex;
  std::unique_ptr<Device> device;
};

struct Kind {
  Kind(int n, DeviceManager::Factory f)
      : count(n), factory(std::move(f)), slots(new Slot[n]) {}

  const int count;
  const DeviceManager::Factory factory;
  const std::unique_ptr<Slot[]> slots;
};

std::string Join(const std::vector<PlaceKey>& places) {
  std::string text;
  for (PlaceKey place : places) {
    if (!text.empty()) text += ", ";
    text += ToString(place);
  }
  return text;
}

}  // namespace

struct DeviceManager::State {
  // Kinds are never removed, so a pointer to one stays valid.
  mutable std::mutex mutex;
  std::map<PlaceKind, Kind> kinds;

  // Held while a loader runs, so that all callers wait for it. It is recursive
  // because a loader may itself call the DeviceManager.
  std::recursive_mutex loading;
  KindLoader loader;
  std::set<PlaceKind> asked;

  const Kind* Find(PlaceKind kind) const {
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = kinds.find(kind);
    return found == kinds.end() ? nullptr : &found->second;
  }

  const Kind* FindOrLoad(PlaceKind kind) {
    if (const Kind* found = Find(kind)) return found;
    std::lock_guard<std::recursive_mutex> lock(loading);
    if (!loader || !asked.insert(kind).second) return Find(kind);
    try {
      loader(kind);
    } catch (...) {
      asked.erase(kind);
      throw;
    }
    return Find(kind);
  }
};

DeviceManager::DeviceManager() : state_(new State) {
  state_->loader = &LoadPluginOfKind;
  AddKind(PlaceKind::kCPU, 1, [](int) { return MakeCPUDevice(); });
}

DeviceManager::~DeviceManager() = default;

DeviceManager& DeviceManager::Instance() {
  static auto* manager = new DeviceManager;
  return *manager;
}

Device& DeviceManager::Get(PlaceKey place) {
  const Kind* kind = state_->FindOrLoad(place.kind);
  if (kind == nullptr && place.kind == PlaceKind::kCUDA) {
    Raise(
        ErrorCode::kUnimplemented, "device.no_cuda",
        "device {}: CUDA cannot be used: {}; a build with SLUICE_CUDA=ON and "
        "a CUDA toolkit, or with SLUICE_CUDA=EMULATE, has it; here there are: "
        "{}",
        place, LoadModule("cuda"), Join(Places()));
  }
  if (kind == nullptr) {
    Raise(ErrorCode::kNotFound, "device.unknown_kind",
          "device {}: no loaded plug-in offers the device kind '{}', {}; load "
          "one, or use one of: {}",
          place, place.kind, DescribePluginSearch(ToString(place.kind)),
          Join(Places()));
  }
  if (kind->count == 0) kind->factory(0);
  if (place.index >= kind->count) {
    Raise(ErrorCode::kNotFound, "device.index",
          "device {}: expected an index below {}, the number of {} devices; "
          "there are: {}",
          place, kind->count, place.kind, Join(Places()));
  }
  Slot& slot = kind->slots[place.index];
  std::lock_guard<std::mutex> lock(slot.mutex);
  if (slot.device == nullptr) slot.device = kind->factory(place.index);
  if (slot.device == nullptr) {
    Raise(ErrorCode::kInternal, "device.factory",
          "device {}: its factory returned no device", place);
  }
  return *slot.device;
}

void DeviceManager::SetKindLoader(KindLoader loader) {
  std::lock_guard<std::recursive_mutex> lock(state_->loading);
  state_->loader = loader ? std::move(loader) : &LoadPluginOfKind;
  state_->asked.clear();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved
void DeviceManager::AddKind(PlaceKind kind, int count, Factory factory) {
  SLUICE_ENFORCE(count >= 0 && count < kMaxDevices, ErrorCode::kInvalidArgument,
                 "device.kind_count",
                 "device kind '{}': expected 0 to {} devices, got {}", kind,
                 kMaxDevices - 1, count);
  SLUICE_ENFORCE(factory != nullptr, ErrorCode::kInvalidArgument,
                 "device.kind_factory",
                 "device kind '{}': expected a factory, got none", kind);
  std::lock_guard<std::mutex> lock(state_->mutex);
  const bool added =
      state_->kinds.try_emplace(kind, count, std::move(factory)).second;
  SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "device.kind_twice",
                 "device kind '{}' is there already", kind);
}

int DeviceManager::Count(PlaceKind kind) const {
  const Kind* found = state_->Find(kind);
  return found == nullptr ? 0 : found->count;
}

int DeviceManager::LoadAndCount(PlaceKind kind) {
  state_->FindOrLoad(kind);
  return Count(kind);
}

std::vector<PlaceKey> DeviceManager::Places() const {
  std::vector<PlaceKey> places;
  std::lock_guard<std::mutex> lock(state_->mutex);
  for (const auto& [kind, devices] : state_->kinds) {
    for (int index = 0; index < devices.count; ++index) {
      places.emplace_back(kind, index);
    }
  }
  return places;
}

}  // namespace sluice
