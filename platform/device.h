#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::platform {

class DeviceContext;

// One device: raw memory and contexts. Owned by the DeviceManager for the life
// of the process. Every function may be called from any thread.
class SLUICE_API Device {
 public:
  virtual ~Device();

  virtual PlaceKey place() const = 0;
  // What a person calls it, e.g. "NVIDIA H100 80GB HBM3 (sm_90)".
  virtual std::string Description() const;
  // True when the CPU only plays the device: it computes the same numbers, and
  // its times mean nothing.
  virtual bool is_emulated() const { return false; }

  // Raw memory, 64-byte aligned; nullptr when there is none. Users want
  // memory::Alloc, which caches, counts and limits.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* pointer, size_t bytes) = 0;
  // Bytes that memory::Alloc may hand out at most by default.
  virtual size_t MemoryLimit() const = 0;
  // True when the host may read and write the memory directly.
  virtual bool host_accessible() const = 0;

  // Of the memory at `pointer`, which Allocate returned, the first `bytes` are
  // in use from now on; 0 while it waits in a cache. A device may watch that
  // nobody touches the rest.
  virtual void SetUsable(void* /*pointer*/, size_t /*bytes*/) {}

  virtual std::unique_ptr<DeviceContext> CreateContext() = 0;
  // True when copies to and from the host run beside kernels, so that a plan
  // gives each direction a context of its own.
  virtual bool copies_beside_kernels() const { return false; }

 protected:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
};

// All devices of the process, made when first asked for. Thread-safe.
class SLUICE_API DeviceManager {
 public:
  // Finds or refuses (with the reason, as an Error) device `index` of a kind.
  // Where there is none, index 0 is asked for all the same, for the reason.
  using Factory = std::function<std::unique_ptr<Device>(int index)>;

  // Adds a kind, if it can, by calling AddKind; raises what went wrong.
  using KindLoader = std::function<void(PlaceKind)>;

  // Never destroyed, so that memory may be given back while the process ends.
  static DeviceManager& Instance();

  // Raises NotFound or Unimplemented with what to do, e.g. that this build has
  // no CUDA or that no plug-in offers the kind.
  Device& Get(PlaceKey place);

  // Called by Get and LoadAndCount, outside of all locks but its own, for a
  // kind that was not added: once, or again after it raised. So a plug-in is
  // loaded on first use; nullptr goes back to LoadPluginOfKind, the default.
  void SetKindLoader(KindLoader loader);

  // Adds a kind (a plug-in's) with devices 0 to count - 1. Raises
  // InvalidArgument if the kind is there already or if an argument is bad.
  void AddKind(PlaceKind kind, int count, Factory factory);

  // Devices of a kind that was added; 0 for all others.
  int Count(PlaceKind kind) const;
  // The same after loading what offers the kind, as Get does; 0 when there is
  // nothing to load. Raises what the loader raises.
  int LoadAndCount(PlaceKind kind);

  // Every place that can be used now, the CPU first.
  std::vector<PlaceKey> Places() const;

 private:
  DeviceManager();
  ~DeviceManager();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::platform
