#pragma once

#include <memory>

#include "sluice/platform/device_context.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::platform {

// The contexts of all places of the process, made when first asked for: no
// device is touched before. The pool owns them; every function may be called
// from any thread.
class SLUICE_API DeviceContextPool {
 public:
  // Never destroyed, so that leases may end while the process does.
  static DeviceContextPool& Instance();

  // The one context of the place that everybody shares. A context is for one
  // thread at a time; where several threads work on a place, each takes a
  // lease instead. Raises what DeviceManager::Get raises.
  DeviceContext& Get(PlaceKey place);

  // Waits for a leased context and puts it back; one whose wait fails is
  // thrown away with its error.
  struct GiveBack {
    PlaceKey place;
    void operator()(DeviceContext* context) const noexcept;
  };
  using Lease = std::unique_ptr<DeviceContext, GiveBack>;

  // A context of the place that nobody else uses while the lease lasts.
  Lease Acquire(PlaceKey place);

 private:
  DeviceContextPool();
  ~DeviceContextPool();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::platform
