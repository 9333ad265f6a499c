#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "sluice/platform/device.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/device_plugin.h"
#include "sluice/platform/export.h"
#include "sluice/platform/function_ref.h"
#include "sluice/platform/place_key.h"
#include "sluice/platform/plugin/plugin_host.h"

namespace sluice {

// One device of a plug-in, implemented by the plug-in's callbacks. A callback
// that fails or throws becomes an Error with the plug-in's message. `table`
// must be complete (see plugin_loader.h) and live for ever. Every function may
// be called from any thread.
class SLUICE_API PluginDevice final : public Device {
 public:
  PluginDevice(const SluiceDevicePlugin& table, PlaceKey place);

  PlaceKey place() const override { return place_; }
  void* Allocate(size_t bytes) override;
  // Errors of the plug-in are only logged, because no caller can handle them.
  void Free(void* pointer, size_t bytes) override;
  size_t MemoryLimit() const override;
  bool host_accessible() const override;
  std::unique_ptr<DeviceContext> CreateContext() override;

  // Returns the device's counters. Raises Unimplemented when it has none.
  SluiceDeviceCounters Counters();
  // Changes a setting of the device. Raises Unimplemented or NotFound.
  void SetOption(const std::string& name, const std::string& value);

  const SluiceDevicePlugin& table() const { return table_; }
  int index() const { return place_.index; }

  // Calls one callback under the rules of the ABI. Call raises an error that
  // names the callback; Try returns it.
  void Call(std::string_view callback,
            FunctionRef<SluiceStatus(SluiceError*)> call) const;
  PluginResult Try(FunctionRef<SluiceStatus(SluiceError*)> call) const;

 private:
  const SluiceDevicePlugin& table_;
  const PlaceKey place_;
  // Held in every call when the plug-in has no queues of its own.
  mutable std::mutex serial_;
};

// A queue of a plug-in's device. Used by one thread at a time, like every
// DeviceContext; the device outlives it.
class SLUICE_API PluginDeviceContext : public DeviceContext {
 public:
  // Raises what the plug-in's create_queue reports.
  explicit PluginDeviceContext(PluginDevice& device);
  // Waits for all enqueued work.
  ~PluginDeviceContext() override;

  Place GetPlace() const override;
  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  // Copies through the host when the device cannot; that waits.
  void CopyOnDevice(void* to, const void* from, size_t bytes) override;
  void Wait() override;
  void Compute(FunctionRef<void()> kernel) override;
  void SetOpIndex(int op_index) override { op_index_ = op_index; }

  int FailedOp() const override { return failed_op_; }
  int op_index() const { return op_index_; }
  // Null when the plug-in has no queues.
  SluiceQueue queue() const { return queue_; }
  PluginDevice& device() const { return device_; }

 private:
  using CopyCallback = decltype(SluiceDevicePlugin::copy_to_device);
  void Copy(std::string_view name,
            CopyCallback callback,
            void* to,
            const void* from,
            size_t bytes);
  void CopyThroughHost(void* to, const void* from, size_t bytes);

  PluginDevice& device_;
  SluiceQueue queue_ = nullptr;
  int op_index_ = -1;
  int failed_op_ = -1;
};

}  // namespace sluice
