#pragma once

#include <memory>

#include "sluice/platform/device_context.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

// The contexts of all places of the process, made on first use; no device is
// touched earlier. The pool owns them. Every function may be called from any
// thread.
class SLUICE_API DeviceContextPool {
 public:
  // Never destroyed, because leases may end while the process ends.
  static DeviceContextPool& Instance();

  // Returns the shared context of the place. A context is for one thread at a
  // time; threads that work on a place concurrently acquire leases instead.
  // Raises what DeviceManager::Get raises.
  DeviceContext& Get(PlaceKey place);

  // Waits for a leased context and returns it to the pool. If the wait fails,
  // the context and the error are dropped.
  struct GiveBack {
    PlaceKey place;
    void operator()(DeviceContext* context) const noexcept;
  };
  using Lease = std::unique_ptr<DeviceContext, GiveBack>;

  // Returns a context that is exclusive to the lease.
  Lease Acquire(PlaceKey place);

 private:
  DeviceContextPool();
  ~DeviceContextPool();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
