#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

class DeviceContext;

// One device: raw memory and contexts. Owned by the DeviceManager for the life
// of the process. Every function may be called from any thread.
class SLUICE_API Device {
 public:
  virtual ~Device();

  virtual PlaceKey place() const = 0;
  // Name for users, e.g. "NVIDIA H100 80GB HBM3 (sm_90)".
  virtual std::string Description() const;
  // True when the CPU emulates the device: results are the same, but measured
  // times are meaningless.
  virtual bool is_emulated() const { return false; }

  // Returns raw memory, 64-byte aligned, or nullptr when there is none. Callers
  // should use Alloc, which caches, counts and limits.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* pointer, size_t bytes) = 0;
  // Default limit of Alloc for this device, in bytes.
  virtual size_t MemoryLimit() const = 0;
  // True when the host may read and write the memory directly.
  virtual bool host_accessible() const = 0;

  // Declares that the first `bytes` of the memory at `pointer`, which Allocate
  // returned, are in use from now on; 0 for cached memory. A device may check
  // that the rest is not touched.
  virtual void SetUsable(void* /*pointer*/, size_t /*bytes*/) {}

  virtual std::unique_ptr<DeviceContext> CreateContext() = 0;
  // True when copies to and from the host can overlap kernels, so that a plan
  // uses a separate context for each direction.
  virtual bool copies_beside_kernels() const { return false; }

 protected:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
};

// All devices of the process, made on first use. Thread-safe.
class SLUICE_API DeviceManager {
 public:
  // Makes device `index` of a kind, or raises the reason why it cannot. For a
  // kind with no devices it is still called with index 0, for the reason.
  using Factory = std::function<std::unique_ptr<Device>(int index)>;

  // Calls AddKind for a kind if possible; raises the error otherwise.
  using KindLoader = std::function<void(PlaceKind)>;

  // Never destroyed, because memory may be freed while the process ends.
  static DeviceManager& Instance();

  // Raises NotFound or Unimplemented with advice, e.g. that this build has no
  // CUDA or that no plug-in offers the kind.
  Device& Get(PlaceKey place);

  // Sets what Get and LoadAndCount call, without other locks, for a kind that
  // was not added: once, or again after it raised. So plug-ins are loaded on
  // first use; nullptr restores LoadPluginOfKind.
  void SetKindLoader(KindLoader loader);

  // Adds a kind (of a plug-in) with devices 0 to count - 1. Raises
  // InvalidArgument if the kind exists already or if an argument is bad.
  void AddKind(PlaceKind kind, int count, Factory factory);

  // Number of devices of a kind that was added; 0 for all others.
  int Count(PlaceKind kind) const;
  // Number of devices of a kind, which is loaded first as by Get; 0 when there
  // is nothing to load. Raises what the loader raises.
  int LoadAndCount(PlaceKind kind);

  // Returns every place that can be used now, the CPU first.
  std::vector<PlaceKey> Places() const;

 private:
  DeviceManager();
  ~DeviceManager();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
