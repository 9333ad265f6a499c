// A device plug-in with host memory and one mistake, which the environment
// variable SLUICE_BAD_PLUGIN names when it is loaded. The name is also its
// device type. Every other name is a plug-in that works.

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "sluice/platform/device_plugin.h"

namespace {

const SluiceHost* host;
std::string mistake;
uint64_t wrapped_kernels = 0;

bool Is(const char* name) {
  return mistake == name;
}

SluiceStatus DeviceCount(int32_t* count, SluiceError*) {
  if (Is("throws_in_count")) throw std::runtime_error("no counting today");
  *count = Is("negative_count") ? -1 : 1;
  return SLUICE_OK;
}

SluiceStatus Allocate(int32_t,
                      size_t bytes,
                      void** memory,
                      SluiceError* error) {
  if (Is("throws_in_allocate")) throw 42;
  if (Is("promises_too_much")) bytes %= 1 << 20;
  if (bytes > size_t{1} << 30) {
    return host->fail(error, SLUICE_RESOURCE_EXHAUSTED, "too much");
  }
  char* block =
      static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
  *memory = Is("misaligned") ? block + 8 : block;
  return SLUICE_OK;
}

SluiceStatus Deallocate(int32_t, void* memory, size_t, SluiceError* error) {
  if (Is("fails_in_deallocate")) {
    std::free(memory);
    return host->fail(error, SLUICE_INTERNAL, "never heard of it");
  }
  std::free(Is("misaligned") ? static_cast<char*>(memory) - 8 : memory);
  return SLUICE_OK;
}

SluiceStatus Copy(const SluiceCopy* copy, SluiceError* error) {
  if (Is("throws_in_copy")) throw std::runtime_error("the bus is full");
  if (Is("fails_in_copy")) {
    return host->fail(error, SLUICE_DATA_LOSS, "bit %d fell over", 7);
  }
  if (Is("fails_without_reason")) return SLUICE_DEVICE_LOST;
  if (Is("crashes_in_copy")) std::raise(SIGSEGV);
  std::memcpy(copy->to, copy->from,
              Is("loses_a_byte") ? copy->bytes - 1 : copy->bytes);
  return SLUICE_OK;
}

SluiceStatus Synchronise(int32_t, SluiceQueue, SluiceError* error) {
  if (Is("throws_in_synchronise")) throw std::bad_alloc();
  if (Is("fails_late")) {
    error->op_index = 3;
    return host->fail(error, SLUICE_INTERNAL, "the fuse is blown");
  }
  return SLUICE_OK;
}

SluiceStatus CreateQueue(int32_t, SluiceQueue*, SluiceError*) {
  return SLUICE_OK;
}

SluiceStatus CreateEvent(int32_t, SluiceEvent*, SluiceError*) {
  return SLUICE_OK;
}

// Kernels in progress in the upper half, kernels over in the lower.
SluiceStatus BeforeKernel(const SluiceKernelScope*, SluiceError*) {
  wrapped_kernels += uint64_t{1} << 32;
  return SLUICE_OK;
}

SluiceStatus AfterKernel(const SluiceKernelScope*, SluiceError*) {
  wrapped_kernels -= uint64_t{1} << 32;
  ++wrapped_kernels;
  return SLUICE_OK;
}

SluiceStatus Counters(int32_t, SluiceDeviceCounters* counters, SluiceError*) {
  counters->kernels = wrapped_kernels;
  return SLUICE_OK;
}

SluiceStatus SetOption(int32_t,
                       const char* name,
                       const char*,
                       SluiceError* error) {
  return host->fail(error, SLUICE_NOT_FOUND, "no option %s", name);
}

SluiceStatus Compute(const SluiceKernelCall* call) {
  if (Is("throws_in_kernel")) throw std::runtime_error("division by moon");
  const SluiceTensorView& in = *call->inputs[0];
  std::memcpy(call->outputs[0]->data, in.data, in.bytes);
  if (Is("computes_nonsense")) {
    std::memset(call->outputs[0]->data, 1, in.bytes);
  }
  return SLUICE_OK;
}

std::array<SluiceKernelDef, 2> kernels;
std::array<const SluiceKernelDef*, 2> kernel_list = {&kernels[0], &kernels[1]};

void FillKernels() {
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].struct_size = sizeof(SluiceKernelDef);
    kernels[i].op = "reshape";
    kernels[i].dtype = i == 0 ? SLUICE_FLOAT32 : SLUICE_FLOAT64;
    kernels[i].variant = "bad";
    kernels[i].compute = &Compute;
  }
  if (Is("duplicate_kernel")) kernels[1].dtype = SLUICE_FLOAT32;
  if (Is("kernel_of_no_op")) kernels[1].op = "";
  if (Is("kernel_of_unknown_dtype")) kernels[1].dtype = 77;
  if (Is("kernel_of_unknown_layout")) kernels[1].layout = -1;
  if (Is("kernel_without_compute")) kernels[1].compute = nullptr;
  if (Is("kernel_too_small")) kernels[1].struct_size = 8;
}

SluiceDevicePlugin MakeTable() {
  SluiceDevicePlugin table{};
  table.struct_size = Is("table_too_small") ? 40 : sizeof(table);
  table.abi_version = Is("other_version") ? SLUICE_PLUGIN_ABI_VERSION + 1
                                          : SLUICE_PLUGIN_ABI_VERSION;
  table.flags = SLUICE_DEVICE_HOST_ACCESSIBLE;
  table.device_type = Is("bad_type")        ? "Not A Name"
                      : Is("reserved_type") ? "cpu"
                      : Is("second_copy")   ? "works"
                                            : mistake.c_str();
  table.description = "Host memory, for tests";
  table.device_count = &DeviceCount;
  table.allocate = Is("no_allocate") ? nullptr : &Allocate;
  table.deallocate = &Deallocate;
  table.copy_to_device = &Copy;
  table.copy_from_device = &Copy;
  table.synchronise = Is("no_synchronise") ? nullptr : &Synchronise;
  if (Is("half_a_queue")) table.create_queue = &CreateQueue;
  if (Is("half_an_event")) table.create_event = &CreateEvent;
  if (Is("wraps")) {
    table.before_kernel = &BeforeKernel;
    table.after_kernel = &AfterKernel;
    table.counters = &Counters;
    table.set_option = &SetOption;
  }
  table.kernel_count = kernels.size();
  table.kernels = Is("no_kernel_list") ? nullptr : kernel_list.data();
  return table;
}

}  // namespace

const SluiceDevicePlugin* SluicePluginInit(const SluiceHost* given,
                                           SluiceError* error) {
  host = given;
  mistake = std::getenv("SLUICE_BAD_PLUGIN");
  if (Is("throws_in_init")) throw std::runtime_error("no driver, no mercy");
  if (Is("refuses")) {
    host->fail(error, SLUICE_DEVICE_LOST, "driver %d is too old", 12);
    return nullptr;
  }
  FillKernels();
  static const SluiceDevicePlugin kTable = MakeTable();
  return &kTable;
}
