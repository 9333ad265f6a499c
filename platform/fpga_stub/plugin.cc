// The FPGA stub: a device that proves that Sluice's core knows nothing about
// its devices, and that exposes missing waits. It is an ordinary plug-in and
// includes only device_plugin.h of Sluice.
//
// Environment, read once when the plug-in is loaded:
//   SLUICE_FPGA_MEMORY       bytes of memory of each device (256 MiB)
//   SLUICE_FPGA_FAIL_KERNEL  the K-th kernel of each device fails, once

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

#include "sluice/platform/device_plugin.h"
#include "sluice/platform/fpga_stub/device.h"
#include "sluice/platform/fpga_stub/kernels.h"

namespace sluice::fpga_stub {
namespace {

constexpr int32_t kDeviceCount = 2;
constexpr size_t kDefaultMemory = size_t{256} << 20;

const SluiceHost* host = nullptr;
// Never destroyed, because memory may be freed while the process ends.
std::array<Device*, kDeviceCount> devices;

// The callbacks' code throws only when host memory is exhausted.
template <typename Body>
SluiceStatus Guard(SluiceError* error, Body body) {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return SLUICE_OK;
    } else {
      return body();
    }
  } catch (const std::bad_alloc&) {
    return host->fail(error, SLUICE_RESOURCE_EXHAUSTED, "no host memory left");
  }
}

SluiceStatus DeviceCount(int32_t* count, SluiceError*) {
  *count = kDeviceCount;
  return SLUICE_OK;
}

SluiceStatus Allocate(int32_t device,
                      size_t bytes,
                      void** memory,
                      SluiceError* error) {
  return Guard(error, [&] {
    *memory = GetDevice(device).Allocate(bytes);
    if (*memory != nullptr) return SluiceStatus{SLUICE_OK};
    return host->fail(error, SLUICE_RESOURCE_EXHAUSTED,
                      "no room for %zu bytes in the %zu of fpga:%d", bytes,
                      GetDevice(device).memory_limit(), device);
  });
}

SluiceStatus Deallocate(int32_t device,
                        void* memory,
                        size_t /*bytes*/,
                        SluiceError* error) {
  if (memory == nullptr || GetDevice(device).Free(memory)) return SLUICE_OK;
  return host->fail(error, SLUICE_INVALID_ARGUMENT,
                    "%p is not the address of a block of fpga:%d", memory,
                    device);
}

template <void (Device::*kEnqueue)(const SluiceCopy&)>
SluiceStatus Copy(const SluiceCopy* copy, SluiceError* error) {
  return Guard(error, [&] { (GetDevice(copy->device).*kEnqueue)(*copy); });
}

SluiceStatus Synchronise(int32_t device,
                         SluiceQueue queue,
                         SluiceError* error) {
  return Guard(error, [&] {
    const Outcome outcome = GetDevice(device).Synchronise(queue);
    if (outcome.ok()) return SluiceStatus{SLUICE_OK};
    error->op_index = outcome.op_index;
    return host->fail(error, outcome.status, "%s", outcome.text.c_str());
  });
}

SluiceStatus CreateQueue(int32_t device,
                         SluiceQueue* queue,
                         SluiceError* error) {
  return Guard(error, [&] {
    *queue = reinterpret_cast<SluiceQueue>(GetDevice(device).CreateQueue());
  });
}

void DestroyQueue(int32_t device, SluiceQueue queue) {
  GetDevice(device).DestroyQueue(reinterpret_cast<Queue*>(queue));
}

SluiceStatus CreateEvent(int32_t /*device*/,
                         SluiceEvent* event,
                         SluiceError* error) {
  return Guard(error,
               [&] { *event = reinterpret_cast<SluiceEvent>(new Event); });
}

SluiceStatus RecordEvent(int32_t device,
                         SluiceEvent event,
                         SluiceQueue queue,
                         SluiceError* error) {
  return Guard(error, [&] {
    GetDevice(device).Record(reinterpret_cast<Event*>(event), queue);
  });
}

SluiceStatus WaitEvent(int32_t device,
                       SluiceQueue queue,
                       SluiceEvent event,
                       SluiceError* error) {
  return Guard(error, [&] {
    GetDevice(device).WaitFor(queue, *reinterpret_cast<Event*>(event));
  });
}

void DestroyEvent(int32_t /*device*/, SluiceEvent event) {
  delete reinterpret_cast<Event*>(event);
}

SluiceStatus MemoryLimit(int32_t device, size_t* bytes, SluiceError*) {
  *bytes = GetDevice(device).memory_limit();
  return SLUICE_OK;
}

SluiceStatus Counters(int32_t device,
                      SluiceDeviceCounters* counters,
                      SluiceError*) {
  const SluiceDeviceCounters now = GetDevice(device).counters();
  const size_t room = counters->struct_size;
  std::memcpy(counters, &now, room < sizeof(now) ? room : sizeof(now));
  counters->struct_size = room;
  return SLUICE_OK;
}

SluiceStatus SetOption(int32_t device,
                       const char* name,
                       const char* value,
                       SluiceError* error) {
  return Guard(error, [&] {
    if (GetDevice(device).SetOption(name, value)) {
      return SluiceStatus{SLUICE_OK};
    }
    return host->fail(error, SLUICE_NOT_FOUND,
                      "expected memory_limit, fail_kernel or fail_copy with a "
                      "number, got %s=%s",
                      name, value);
  });
}

SluiceDevicePlugin MakeTable() {
  SluiceDevicePlugin table{};
  table.struct_size = sizeof(table);
  table.abi_version = SLUICE_PLUGIN_ABI_VERSION;
  table.device_type = "fpga";
  table.description = "FPGA stub: runs its queue when somebody waits";
  table.device_count = &DeviceCount;
  table.allocate = &Allocate;
  table.deallocate = &Deallocate;
  table.copy_to_device = &Copy<&Device::CopyToDevice>;
  table.copy_from_device = &Copy<&Device::CopyFromDevice>;
  table.synchronise = &Synchronise;
  table.create_queue = &CreateQueue;
  table.destroy_queue = &DestroyQueue;
  table.copy_on_device = &Copy<&Device::CopyOnDevice>;
  table.create_event = &CreateEvent;
  table.record_event = &RecordEvent;
  table.wait_event = &WaitEvent;
  table.destroy_event = &DestroyEvent;
  table.memory_limit = &MemoryLimit;
  table.counters = &Counters;
  table.set_option = &SetOption;
  table.kernel_count = Kernels().size();
  table.kernels = Kernels().data();
  return table;
}

}  // namespace

Device& GetDevice(int32_t index) {
  return *devices[index];
}

const SluiceHost& Host() {
  return *host;
}

const KernelList& Kernels() {
  static const KernelList kAll = [] {
    KernelList all = ManhattanKernels();
    all.insert(all.end(), StreamKernels().begin(), StreamKernels().end());
    return all;
  }();
  return kAll;
}

}  // namespace sluice::fpga_stub

const SluiceDevicePlugin* SluicePluginInit(const SluiceHost* given,
                                           SluiceError* error) {
  using namespace sluice::fpga_stub;  // NOLINT(google-build-using-namespace)
  host = given;
  const char* memory = std::getenv("SLUICE_FPGA_MEMORY");
  const char* fail = std::getenv("SLUICE_FPGA_FAIL_KERNEL");
  const size_t bytes =
      memory == nullptr ? kDefaultMemory : std::strtoull(memory, nullptr, 10);
  for (int32_t i = 0; i < kDeviceCount; ++i) {
    devices[i] = new Device(i, bytes);
    if (fail == nullptr || devices[i]->SetOption("fail_kernel", fail)) continue;
    host->fail(error, SLUICE_INVALID_ARGUMENT,
               "SLUICE_FPGA_FAIL_KERNEL: expected a number, got '%s'", fail);
    return nullptr;
  }
  static const SluiceDevicePlugin kTable = MakeTable();
  return &kTable;
}
