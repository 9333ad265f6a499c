#include "sluice/platform/plugin/plugin_device.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "sluice/platform/alignment.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"
#include "sluice/platform/fpga_device_context.h"
#include "sluice/platform/place.h"
#include "sluice/platform/plugin/plugin_host.h"

namespace sluice {
namespace {

// The size of the pieces in which a copy is staged on the host.
constexpr size_t kStagingBytes = size_t{1} << 20;

}  // namespace

PluginDevice::PluginDevice(const SluiceDevicePlugin& table, PlaceKey place)
    : table_(table), place_(place) {}

PluginResult PluginDevice::Try(
    FunctionRef<SluiceStatus(SluiceError*)> call) const {
  std::unique_lock<std::mutex> lock(serial_, std::defer_lock);
  if (table_.create_queue == nullptr) lock.lock();
  return CallPlugin(call);
}

void PluginDevice::Call(std::string_view callback,
                        FunctionRef<SluiceStatus(SluiceError*)> call) const {
  EnforcePluginOk(ToString(place_), callback, Try(call));
}

void* PluginDevice::Allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const PluginResult result = Try([&](SluiceError* error) {
    return table_.allocate(index(), bytes, &memory, error);
  });
  if (result.status == SLUICE_RESOURCE_EXHAUSTED) return nullptr;
  EnforcePluginOk(ToString(place_), "allocate", result);
  const bool aligned = memory != nullptr &&
                       reinterpret_cast<uintptr_t>(memory) % kAlignment == 0;
  if (!aligned) Free(memory, bytes);
  SLUICE_ENFORCE(aligned, ErrorCode::kInternal, "plugin.alignment",
                 "{}: the plug-in's allocate of {} bytes succeeded with "
                 "address {:#x}; expected one that {} divides",
                 place_, bytes, reinterpret_cast<uintptr_t>(memory),
                 kAlignment);
  return memory;
}

void PluginDevice::Free(void* pointer, size_t bytes) {
  if (pointer == nullptr) return;
  const PluginResult result = Try([&](SluiceError* error) {
    return table_.deallocate(index(), pointer, bytes, error);
  });
  if (result.status == SLUICE_OK) return;
  Log(LogLevel::kError, "{}: the plug-in's deallocate of {} bytes {}: {}",
      place_, bytes, result.threw ? "threw" : "failed", result.text);
}

size_t PluginDevice::MemoryLimit() const {
  size_t bytes = std::numeric_limits<size_t>::max();
  if (table_.memory_limit != nullptr) {
    Call("memory_limit", [&](SluiceError* error) {
      return table_.memory_limit(index(), &bytes, error);
    });
  }
  return bytes;
}

bool PluginDevice::host_accessible() const {
  return (table_.flags & SLUICE_DEVICE_HOST_ACCESSIBLE) != 0;
}

std::unique_ptr<DeviceContext> PluginDevice::CreateContext() {
  if (place_.kind == PlaceKind::kFPGA) {
    return std::make_unique<FPGADeviceContext>(*this);
  }
  return std::make_unique<PluginDeviceContext>(*this);
}

SluiceDeviceCounters PluginDevice::Counters() {
  SLUICE_ENFORCE(table_.counters != nullptr, ErrorCode::kUnimplemented,
                 "plugin.no_counters",
                 "{}: the plug-in does not count what its devices do", place_);
  SluiceDeviceCounters counters{};
  counters.struct_size = sizeof(counters);
  Call("counters", [&](SluiceError* error) {
    return table_.counters(index(), &counters, error);
  });
  return counters;
}

void PluginDevice::SetOption(const std::string& name,
                             const std::string& value) {
  SLUICE_ENFORCE(table_.set_option != nullptr, ErrorCode::kUnimplemented,
                 "plugin.no_options",
                 "{}: the plug-in has no option '{}', nor any other", place_,
                 name);
  Call("set_option", [&](SluiceError* error) {
    return table_.set_option(index(), name.c_str(), value.c_str(), error);
  });
}

PluginDeviceContext::PluginDeviceContext(PluginDevice& device)
    : device_(device) {
  if (device_.table().create_queue == nullptr) return;
  device_.Call("create_queue", [&](SluiceError* error) {
    return device_.table().create_queue(device_.index(), &queue_, error);
  });
}

PluginDeviceContext::~PluginDeviceContext() {
  device_.Try([&](SluiceError* error) {
    return device_.table().synchronise(device_.index(), queue_, error);
  });
  if (queue_ == nullptr) return;
  device_.Try([&](SluiceError*) {
    device_.table().destroy_queue(device_.index(), queue_);
    return SLUICE_OK;
  });
}

Place PluginDeviceContext::GetPlace() const {
  return ToPlace(device_.place());
}

void PluginDeviceContext::Copy(std::string_view name,
                               CopyCallback callback,
                               void* to,
                               const void* from,
                               size_t bytes) {
  if (bytes == 0) return;
  const SluiceCopy copy = {
      sizeof(SluiceCopy), device_.index(), op_index_, queue_, to, from, bytes};
  device_.Call(name,
               [&](SluiceError* error) { return callback(&copy, error); });
}

void PluginDeviceContext::CopyFromHost(void* device,
                                       const void* host,
                                       size_t bytes) {
  Copy("copy_to_device", device_.table().copy_to_device, device, host, bytes);
}

void PluginDeviceContext::CopyToHost(void* host,
                                     const void* device,
                                     size_t bytes) {
  Copy("copy_from_device", device_.table().copy_from_device, host, device,
       bytes);
}

void PluginDeviceContext::CopyOnDevice(void* to,
                                       const void* from,
                                       size_t bytes) {
  const CopyCallback callback = device_.table().copy_on_device;
  if (callback == nullptr) return CopyThroughHost(to, from, bytes);
  Copy("copy_on_device", callback, to, from, bytes);
}

void PluginDeviceContext::CopyThroughHost(void* to,
                                          const void* from,
                                          size_t bytes) {
  std::vector<char> staging(std::min(bytes, kStagingBytes));
  for (size_t done = 0; done < bytes; done += staging.size()) {
    const size_t piece = std::min(bytes - done, staging.size());
    CopyToHost(staging.data(), static_cast<const char*>(from) + done, piece);
    Wait();
    CopyFromHost(static_cast<char*>(to) + done, staging.data(), piece);
    Wait();
  }
}

void PluginDeviceContext::Wait() {
  const PluginResult result = device_.Try([&](SluiceError* error) {
    return device_.table().synchronise(device_.index(), queue_, error);
  });
  failed_op_ = result.op_index;
  EnforcePluginOk(ToString(device_.place()), "synchronise", result);
}

void PluginDeviceContext::Compute(FunctionRef<void()> kernel) {
  const SluiceDevicePlugin& table = device_.table();
  const SluiceKernelScope scope{sizeof(SluiceKernelScope), device_.index(),
                                op_index_, queue_};
  if (table.before_kernel != nullptr) {
    device_.Call("before_kernel", [&](SluiceError* error) {
      return table.before_kernel(&scope, error);
    });
  }
  const auto after = [&](SluiceError* error) {
    return table.after_kernel != nullptr ? table.after_kernel(&scope, error)
                                         : SLUICE_OK;
  };
  try {
    kernel();
  } catch (...) {
    device_.Try(after);
    throw;
  }
  device_.Call("after_kernel", after);
}

}  // namespace sluice
