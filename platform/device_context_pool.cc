#include "sluice/platform/device_context_pool.h"

#include <map>
#include <mutex>
#include <vector>

#include "sluice/platform/device.h"

namespace sluice {

struct DeviceContextPool::State {
  struct Contexts {
    std::unique_ptr<DeviceContext> shared;
    std::vector<std::unique_ptr<DeviceContext>> idle;
    size_t leased = 0;
  };

  std::mutex mutex;
  std::map<PlaceKey, Contexts> places;
};

DeviceContextPool::DeviceContextPool() : state_(new State) {}
DeviceContextPool::~DeviceContextPool() = default;

DeviceContextPool& DeviceContextPool::Instance() {
  static auto* pool = new DeviceContextPool;
  return *pool;
}

// Creates contexts without the lock: it can take long, and fail.

DeviceContext& DeviceContextPool::Get(PlaceKey place) {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    const auto found = state_->places.find(place);
    if (found != state_->places.end() && found->second.shared != nullptr) {
      return *found->second.shared;
    }
  }
  auto made = DeviceManager::Instance().Get(place).CreateContext();
  std::lock_guard<std::mutex> lock(state_->mutex);
  auto& shared = state_->places[place].shared;
  if (shared == nullptr) shared = std::move(made);
  return *shared;
}

DeviceContextPool::Lease DeviceContextPool::Acquire(PlaceKey place) {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    auto& contexts = state_->places[place];
    if (!contexts.idle.empty()) {
      Lease lease(contexts.idle.back().release(), GiveBack{place});
      contexts.idle.pop_back();
      return lease;
    }
    // Reserves space for all leases, so that giving back cannot fail.
    contexts.idle.reserve(contexts.leased + 1);
    ++contexts.leased;
  }
  try {
    auto made = DeviceManager::Instance().Get(place).CreateContext();
    return Lease(made.release(), GiveBack{place});
  } catch (...) {
    std::lock_guard<std::mutex> lock(state_->mutex);
    --state_->places[place].leased;
    throw;
  }
}

void DeviceContextPool::GiveBack::operator()(
    DeviceContext* context) const noexcept {
  std::unique_ptr<DeviceContext> owned(context);
  State& state = *Instance().state_;
  bool healthy = true;
  try {
    owned->Wait();
  } catch (...) {
    healthy = false;
  }
  std::lock_guard<std::mutex> lock(state.mutex);
  auto& contexts = state.places[place];
  if (healthy) {
    contexts.idle.push_back(std::move(owned));
  } else {
    --contexts.leased;
  }
}

}  // namespace sluice
